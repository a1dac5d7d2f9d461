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
	sameDomain bool   // the claim before it is one name in the same domain too, which is usual within an object
	unreadable bool   // the claim is every host, because text is not a valid name
	speaks     bool   // text is a DNS name that controls the claimed hosts without being among them
	text       string // as in the object; empty for claims without a text
}

// claimField is a field that makes claims in objects of a kind.
type claimField struct {
	path  string // in the object, with %d for each index, and %s for the quoted key
	key   string // the key of an annotation or a property; empty for other fields
	class claimClass

	// every is the beginning of a sentence about a claim of every host, with %s for the quoted text. setOne is the end of
	// a sentence that requires a host. The usual words apply if they are empty.
	every, setOne string
}

// claimClass is the class of a field that makes claims, as far as checks distinguish them. The zero value is for fields
// that may repeat hosts of other fields. Users read one sentence about all such fields.
type claimClass uint8

const (
	// mainField is a field by which the object serves hosts. Users read one sentence for each of its claims.
	mainField claimClass = iota + 1
	// tlsField may repeat hosts. Its hosts have no effect if no other field has them.
	tlsField
	// listenerField may repeat hosts. A listener without a host serves the hosts of its routes.
	listenerField
	// annotationField is an annotation. It may repeat hosts.
	annotationField
)

// String returns the path of the field in the object.
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
		return text.Quote(p.text) + " may cover every host"
	default:
		return "no host means every host"
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
