package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
)

// hostClaim is the set of hosts that one field of an object claims. It is one name, every name one label below a name,
// every name at any depth below a name, or every host. The meaning of a wildcard depends on the field. A text that
// cannot be parsed as a name claims every host.
type hostClaim struct {
	match.HostPattern
	at claimPlace
}

// newClaim returns the claim of a text as in a rule of an Ingress or in a certificate, where *.example covers one
// label. The API server rejects a text that cannot be parsed as a name, but manifests in files may contain it.
func newClaim(name string, at claimPlace) hostClaim {
	if name == "" {
		return claimOf(match.EveryHost(), at)
	}
	return claimOfText(name, host.OneLabel(name), at)
}

func claimOf(p match.HostPattern, at claimPlace) hostClaim { return hostClaim{p, at} }

// claimOfText returns the claim of a text that has been parsed as p. p is every host if the text cannot be parsed as a
// name.
func claimOfText(s string, p match.HostPattern, at claimPlace) hostClaim {
	at.text, at.unreadable = s, p.IsEvery()
	return hostClaim{p, at}
}

// recordClaim returns the claim of a text that is the name of a DNS record and claims p. See recordNames.
func recordClaim(s string, p match.HostPattern, at claimPlace) hostClaim {
	c := claimOfText(s, p, at)
	_, special := host.AboutName(s)
	_, itself := host.AboutName(p.Name)
	c.at.speaks = special && !itself && !c.at.unreadable
	return c
}

// quoted returns the claim as sentences show it. In an object, *.example can cover names at any depth. The sentence
// then shows *.example as the user wrote it and mentions the depth, because policies write **.example for names at any
// depth.
func (h *hostClaim) quoted() string {
	if h.at.speaks {
		return text.Quote(h.at.text) + " (which controls " + text.Quote(h.String()) + ")"
	}
	if h.Depth == match.LabelsBelow && h.at.text != "" {
		return text.Quote(h.at.text) + " (names at any depth)"
	}
	return text.Quote(h.String())
}

// follow records whether the claim has the same domain as the claim before it.
func (h *hostClaim) follow(before []hostClaim) {
	if n := len(before); n > 0 && h.Depth == match.HostItself && before[n-1].Depth == match.HostItself {
		h.at.sameDomain = match.ParentHost(h.Name) == match.ParentHost(before[n-1].Name)
	}
}

// claimSet is the claims of an object, and the values that checks compute from them. Each value is computed on first
// use and once for all rules.
type claimSet struct {
	list      []hostClaim
	first     map[match.HostPattern]int // index of the first claim of each set of hosts; see repeated
	different int                       // number of different sets of hosts; see differentHosts
	lookup    hostLookup                // reused by one check after another
}

// repeated reports whether claim i is in an annotation, in spec.tls or in a listener, and an earlier field claims the
// same hosts. Users get only one sentence about these hosts. A text that cannot be parsed as a name repeats only the
// same text directly before it, because a different text may be a different claim.
func (c *claimSet) repeated(i int, r *rule.Recorder) bool {
	claims := c.list
	switch {
	case claims[i].at.in().class == mainField:
		return false
	case claims[i].at.unreadable:
		return i > 0 && claims[i-1].at.unreadable && claims[i-1].at.text == claims[i].at.text &&
			claims[i-1].at.in().key == claims[i].at.in().key
	}
	if c.first == nil {
		c.first = make(map[match.HostPattern]int, 1+named(claims))
		for j := range claims {
			if !r.Spend(rule.LedgerSteps) {
				break
			}
			if claims[j].at.unreadable {
				continue
			}
			if _, there := c.first[claims[j].HostPattern]; !there {
				c.first[claims[j].HostPattern] = j
			}
		}
	}
	first, there := c.first[claims[i].HostPattern]
	return there && first < i
}

// named returns the number of claims that are not claims of every host. It is an upper bound for the number of
// different sets of hosts, not counting the set of every host.
func named(claims []hostClaim) (n int) {
	for i := range claims {
		if !claims[i].IsEvery() {
			n++
		}
	}
	return n
}

// differentHosts returns the number of different sets of hosts that an object claims.
func (c *claimSet) differentHosts(r *rule.Recorder) int {
	if c.different == 0 {
		different := make(map[match.HostPattern]struct{}, 1+named(c.list))
		for i := range c.list {
			if !r.Spend(rule.LedgerSteps) {
				break
			}
			different[c.list[i].HostPattern] = struct{}{}
		}
		c.different = len(different)
	}
	return c.different
}

// carries reports whether the claim is from a listener without a host. Such a listener serves the hosts of its routes
// and does not claim a host itself.
func (h *hostClaim) carries() bool {
	return h.IsEvery() && !h.at.unreadable && h.at.in().class == listenerField
}

// steps returns how many steps it takes to look the host up, one for each eight bytes of its name. A text that cannot
// be parsed as a name is hashed.
func (h *hostClaim) steps() int {
	if h.at.unreadable {
		return rule.StepsOf(1, h.at.text)
	}
	return 1 + len(h.Name)/8
}

// identity returns the identity of a finding about the host. The identity does not contain the field, so a host in one
// field of the old object is pre-existing in all fields. An exception is a host that is only in spec.tls. It is idle,
// because nothing is served for it. If a text cannot be parsed as a name, the identity contains the text and the
// annotation, because two regular expressions are different claims even if both may match every host. A DNS name that
// controls another name is also part of the identity, so a finding about _dmarc.example does not exempt
// _acme-challenge.example.
func (h *hostClaim) identity(check string) rule.Identity {
	id, field := hostIdentity(check, h.HostPattern), h.at.in()
	id.Idle = field.class == tlsField
	switch {
	case h.at.unreadable:
		id.Value, id.Use = h.at.text, field.key
	case h.at.speaks:
		id.Use = h.at.text
	}
	return id
}

// hostIdentity returns the identity of a finding about a host.
func hostIdentity(check string, host match.HostPattern) rule.Identity {
	return rule.Identity{Check: check, Value: host.Name, Depth: host.Depth}
}

// hostLookup looks up the claims of an object in a set, one after the other.
type hostLookup struct {
	namespace string // of the object; empty for objects without a namespace
	covered   bool   // a pattern covers every host of the domain of the last claim, one label below it
}

// find reports whether a pattern in the set covers every host in the claim h. All calls use the same set, and h is the
// claim after the one in the previous call.
func (l *hostLookup) find(set *match.HostSet, h *hostClaim) bool {
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
