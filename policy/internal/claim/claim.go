package claim

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// Claim is the set of hosts that one field of an object claims. It is one name, every name one label below a name,
// every name at any depth below a name, or every host. The meaning of a wildcard depends on the field. A text that
// cannot be parsed as a name claims every host.
type Claim struct {
	match.HostPattern
	at claimPlace
}

// newClaim returns the claim of a text as in a rule of an Ingress or in a certificate, where *.example covers one
// label. The API server rejects a text that cannot be parsed as a name, but manifests in files may contain it.
func newClaim(name string, at claimPlace) Claim {
	if name == "" {
		return claimOf(match.EveryHost(), at)
	}
	return claimOfText(name, host.OneLabel(name), at)
}

func claimOf(p match.HostPattern, at claimPlace) Claim { return Claim{p, at} }

// claimOfText returns the claim of a text that has been parsed as p. p is every host if the text cannot be parsed as a
// name.
func claimOfText(s string, p match.HostPattern, at claimPlace) Claim {
	at.text, at.unreadable = s, p.IsEvery()
	return Claim{p, at}
}

// recordClaim returns the claim of a text that is the name of a DNS record and claims p. See host.RecordNames.
func recordClaim(s string, p match.HostPattern, at claimPlace) Claim {
	c := claimOfText(s, p, at)
	if !c.at.unreadable {
		_, special := host.AboutName(s)
		_, itself := host.AboutName(p.Name)
		c.at.speaks = special && !itself
	}
	return c
}

// Path returns the field of the claim in its object.
func (h *Claim) Path() string { return h.at.String() }

// Value returns the hosts in a form that is the same for all fields: a wildcard has one star, whatever it covers. ok is
// false for a text that cannot be parsed as a name.
func (h *Claim) Value() (hosts string, ok bool) { return h.asCertified().String(), !h.at.unreadable }

// InMainField reports whether the claim is in the field in which objects of the kind list their hosts.
func (h *Claim) InMainField() bool { return h.at.in().class == mainField }

// quoted returns the claim as sentences show it. In an object, *.example can cover names at any depth. The sentence
// then shows *.example as the user wrote it and mentions the depth, because policies write **.example for names at any
// depth.
func (h *Claim) quoted() string {
	if h.at.speaks {
		return text.Quote(h.at.text) + " (which controls " + text.Quote(h.String()) + ")"
	}
	if h.Depth == match.LabelsBelow && h.at.text != "" {
		return text.Quote(h.at.text) + " (names at any depth)"
	}
	return text.Quote(h.String())
}

// follow records whether the claim has the same domain as the claim before it.
func (h *Claim) follow(before []Claim) {
	if n := len(before); n > 0 && h.Depth == match.HostItself && before[n-1].Depth == match.HostItself {
		h.at.sameDomain = match.ParentHost(h.Name) == match.ParentHost(before[n-1].Name)
	}
}

// Set contains the claims of an object, and the values that checks compute from them. Each value is computed on first
// use and once for all rules.
type Set struct {
	List      []Claim        // nil if the claims have not been read
	first     map[effect]int // index of the first claim with the same hosts and the same effect; see repeated
	different int            // number of different sets of hosts; see differentHosts
	lookup    hostLookup     // reused by one check after another
}

// effect is the part of the identity of a claim that decides whether it repeats another claim.
type effect struct {
	match.HostPattern
	use  string
	idle bool
}

// repeated reports whether claim i is in an annotation, in spec.tls or in a listener, and another field claims the same
// hosts with at least the same effect. If both have the same effect, the first one is not repeated. Users get only one
// sentence about these hosts. The other claim covers this one when an update is compared with the old object: a host
// that is served is never left out because of a field in which it is idle. A text that cannot be parsed as a name
// repeats only the same text directly before it, because a different text may be a different claim.
func (c *Set) repeated(i int, r *rule.Recorder) bool {
	claims := c.List
	switch {
	case claims[i].at.in().class == mainField:
		return false
	case claims[i].at.unreadable:
		return i > 0 && claims[i-1].at.unreadable && claims[i-1].at.text == claims[i].at.text &&
			claims[i-1].at.in() == claims[i].at.in()
	}
	if c.first == nil {
		c.first = make(map[effect]int, 1+named(claims))
		for j := range claims {
			if !r.Spend(rule.LedgerSteps) {
				break
			}
			if claims[j].at.unreadable {
				continue
			}
			if _, there := c.first[claims[j].effect()]; !there {
				c.first[claims[j].effect()] = j
			}
		}
	}
	id := claims[i].effect()
	if c.first[id] < i {
		return true
	}
	served := id
	served.idle = false
	_, there := c.first[served]
	return id.idle && there
}

// effect returns the part of the identity that decides whether the claim repeats another claim.
func (h *Claim) effect() effect {
	id := h.identity("")
	return effect{h.HostPattern, id.Use, id.Idle}
}

// named returns the number of claims that are not claims of every host. It is an upper bound for the number of
// different sets of hosts, not counting the set of every host.
func named(claims []Claim) (n int) {
	for i := range claims {
		if !claims[i].IsEvery() {
			n++
		}
	}
	return n
}

// differentHosts returns the number of different sets of hosts that an object claims. *.example counts once, even if it
// covers one label in one field and any number of labels in another.
func (c *Set) differentHosts(r *rule.Recorder) int {
	if c.different == 0 {
		different := make(map[match.HostPattern]struct{}, 1+named(c.List))
		for i := range c.List {
			if !r.Spend(rule.LedgerSteps) {
				break
			}
			different[c.List[i].asCertified()] = struct{}{}
		}
		c.different = len(different)
	}
	return c.different
}

// carries reports whether the claim is from a listener without a host. Such a listener serves the hosts of its routes
// and does not claim a host itself.
func (h *Claim) carries() bool {
	return h.IsEvery() && !h.at.unreadable && h.at.in().class == listenerField
}

// steps returns how many steps it takes to look the host up, one for each eight bytes of its name. A text that cannot
// be parsed as a name is hashed.
func (h *Claim) steps() int {
	if h.at.unreadable {
		return rule.StepsOf(1, h.at.text)
	}
	return 1 + len(h.Name)/8
}

// identity returns the identity of a finding about the host. The identity does not contain the field, so a host in one
// field of the old object is pre-existing in all fields. An exception is a host that is only in spec.tls or in an
// annotation for a certificate or a DNS record. It is idle, because nothing is served for it. If a text cannot be
// parsed as a name, the identity contains the text and the annotation, because two regular expressions are different
// claims even if both may match every host. A DNS name that controls another name is also part of the identity, so a
// finding about _dmarc.example does not exempt _acme-challenge.example.
func (h *Claim) identity(check string) rule.Identity {
	id, field := Identity(check, h.HostPattern), h.at.in()
	id.Idle = field.class == tlsField || field.class == annotationField && !serves(field.key)
	switch {
	case h.at.unreadable:
		id.Value, id.Detail, id.Use = h.at.text, field.digest, field.key
	case h.at.speaks:
		id.Use = h.at.text
	}
	return id
}

// serves reports whether a controller serves the hosts in the annotation with this key. Prefixes can be configured, so
// only the name after the prefix counts.
func serves(key string) bool {
	_, name, _ := strings.Cut(match.LowerASCII(key[:min(len(key), object.MaxAnnotationKey)]), "/")
	switch name {
	case "server-alias", "server-alias-regex", "redirect-from", "redirect-from-regex", "from-to-www-redirect",
		"host-aliases", "hostname-extension", "skipper-predicate", "skipper-routes", "router.pathmatcher", "domain", "url",
		"config", "host", "fqdn", "route-acl", "config-backend", "config-backend-early", "config-backend-late",
		"config-tcp-service":
		return true
	}
	return strings.HasPrefix(name, "conditions.") || strings.Contains(name, "-snippet")
}

// Identity returns the identity of a finding of the given check about a host.
func Identity(check string, host match.HostPattern) rule.Identity {
	return rule.Identity{Check: check, Value: host.Name, Depth: host.Depth}
}

// hostLookup looks up the claims of an object in a set, one after the other.
type hostLookup struct {
	namespace string // of the object; empty for objects without a namespace
	covered   bool   // a pattern covers every host of the domain of the last claim, one label below it
}

// find reports whether a pattern in the set covers every host in the claim h. All calls use the same set, and h is the
// claim after the one in the previous call.
func (l *hostLookup) find(set *match.HostSet, h *Claim) bool {
	if h.at.sameDomain && l.covered {
		return true
	}
	if l.covered = false; h.Depth != match.HostItself || set.Has(h.HostPattern) {
		_, ok := set.Covers(h.HostPattern)
		return ok
	}
	_, l.covered = set.CoversBelow(match.ParentHost(h.Name))
	return l.covered
}

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
	// digest identifies the values of all annotations, if there are too many hosts to read; see tooManyHosts.
	digest string

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
	return strings.Replace(path, "%s", text.QuoteUpTo(object.MaxAnnotationKey, f.key), 1)
}

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
