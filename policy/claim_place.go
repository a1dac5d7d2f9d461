package policy

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// claimPlace is the place of a claim in an object. An object may have hundreds of claims, so a claimPlace is small, and
// its path is formatted only for a finding.
type claimPlace struct {
	in         func() claimField
	i, j       int32  // the indexes in the path of the field
	sameDomain bool   // the claim before it is one name too, in the same domain, as most hosts of an object are
	unreadable bool   // the claim is every host, because text cannot be read as a name
	speaks     bool   // text is a name of DNS that controls the claimed hosts, and is not one of them
	text       string // as it is written; empty for claims that no text makes
}

// claimField is a field of a kind of objects that makes claims.
type claimField struct {
	path  string // as users write it, with %d for each index, and %s for the quoted key
	key   string // of an annotation or a property; empty for other fields
	class claimClass

	// every is the beginning of a sentence about a claim of every host, with %s for the quoted text. setOne is the end of
	// a sentence that requires a host. Each is empty for the usual words.
	every, setOne string
}

// claimClass is what checks distinguish in fields that make claims. The zero value is for a field that may repeat hosts
// of other fields: users read one sentence about all of them.
type claimClass uint8

const (
	// mainField is a field by which the object serves hosts. Users read a sentence about each of its claims.
	mainField claimClass = iota + 1
	// tlsField may repeat hosts. Its hosts have no effect if no other field has them.
	tlsField
	// listenerField may repeat hosts. A listener without a host serves the hosts of its routes.
	listenerField
	// annotationField may repeat hosts, and is an annotation.
	annotationField
)

// String returns the path of the field, as users write it.
func (p *claimPlace) String() string {
	f := p.in()
	path := f.path
	for _, index := range [...]int32{p.i, p.j} {
		path = strings.Replace(path, "%d", strconv.Itoa(int(index)), 1)
	}
	return strings.Replace(path, "%s", text.QuoteUpTo(maxAnnotationKey, f.key), 1)
}

// elementPath returns the path of an element of a list.
func elementPath(list string, i int32) string { return list + "[" + strconv.Itoa(int(i)) + "]" }

// every returns the beginning of a sentence about a claim of every host.
func (p *claimPlace) every() string {
	switch f := p.in(); {
	case f.every != "":
		return strings.Replace(f.every, "%s", text.Quote(p.text), 1)
	case p.unreadable:
		return text.Quote(p.text) + " may stand for every host"
	default:
		return "no host is set, which means every host"
	}
}

// setOne returns the end of a sentence that requires a host.
func (p *claimPlace) setOne() string {
	switch f := p.in(); {
	case f.setOne != "":
		return f.setOne
	case p.unreadable:
		return "; write each host out"
	default:
		return "; set one"
	}
}
