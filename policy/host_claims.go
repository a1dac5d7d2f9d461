package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// hostClaim is the set of hosts that one place of an object reaches, by the meaning that the place itself has: one
// name, every name one label below another or at any depth, or every host. What cannot be read as a name is every
// host.
type hostClaim struct {
	match.HostPattern
	at claimPlace
}

// newClaim returns the claim of a text that means what a rule of an Ingress or a certificate means by it: *.example is
// one label. The API server refuses what cannot be read as a name; manifests in files may have it.
func newClaim(host string, at claimPlace) hostClaim {
	if host == "" {
		return claimOf(match.EveryHost(), at)
	}
	return claimOfText(host, oneLabel(host), at)
}

func claimOf(p match.HostPattern, at claimPlace) hostClaim { return hostClaim{p, at} }

// claimOfText returns the claim of a text that has been read as p, which is every host where it cannot be read as a
// name.
func claimOfText(s string, p match.HostPattern, at claimPlace) hostClaim {
	at.text, at.unreadable = s, p.IsEvery()
	return hostClaim{p, at}
}

// recordClaim returns the claim of a text as a name of DNS, which reaches p: see recordNames.
func recordClaim(s string, p match.HostPattern, at claimPlace) hostClaim {
	c := claimOfText(s, p, at)
	_, special := aboutName(s)
	_, itself := aboutName(p.Name)
	c.at.speaks = special && !itself && !c.at.unreadable
	return c
}

// quoted returns what sentences call the claim. Where *.example is names at any depth it is that, as users write it: a
// policy has **.example for it, and means one label by *.example.
func (h *hostClaim) quoted() string {
	if h.at.speaks {
		return text.Quote(h.at.text) + " (which controls " + text.Quote(h.String()) + ")"
	}
	if h.Depth == match.LabelsBelow && h.at.text != "" {
		return text.Quote(h.at.text) + " (names at any depth)"
	}
	return text.Quote(h.String())
}

// follow compares the domain of the claim with that of the claims before it.
func (h *hostClaim) follow(before []hostClaim) {
	if n := len(before); n > 0 && h.Depth == match.HostItself && before[n-1].Depth == match.HostItself {
		h.at.sameDomain = match.ParentHost(h.Name) == match.ParentHost(before[n-1].Name)
	}
}

// claimSet is the claims of an object, and the values that checks compute from them. Each value is computed on first
// use and once for all rules.
type claimSet struct {
	list      []hostClaim
	first     map[match.HostPattern]int // the first claim of each set of hosts; see repeated
	different int                       // how many different sets of hosts there are; see differentHosts
	lookup    hostLookup                // for one check after another
}

// repeated reports whether claim i is in an annotation, in spec.tls or in a listener, and an earlier place claims the
// same hosts: users read one sentence about them. A text that cannot be read as a name repeats only the same text
// before it, because another text may be another claim.
func (c *claimSet) repeated(i int, r *report) bool {
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
			if !r.spend(ledgerSteps) {
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

// named returns how many claims are not every host: an upper bound of the sets among them, less the one of every host.
func named(claims []hostClaim) (n int) {
	for i := range claims {
		if !claims[i].IsEvery() {
			n++
		}
	}
	return n
}

// differentHosts returns how many different sets of hosts an object claims.
func (c *claimSet) differentHosts(r *report) int {
	if c.different == 0 {
		different := make(map[match.HostPattern]struct{}, 1+named(c.list))
		for i := range c.list {
			if !r.spend(ledgerSteps) {
				break
			}
			different[c.list[i].HostPattern] = struct{}{}
		}
		c.different = len(different)
	}
	return c.different
}

// carries reports whether a listener without a host makes the claim. The listener serves the hosts of its routes, and
// names no host itself.
func (h *hostClaim) carries() bool {
	return h.IsEvery() && !h.at.unreadable && h.at.in().class == listenerField
}

// steps returns how many steps it takes to look the host up: one for each eight bytes of its name. A text that cannot
// be read as a name is hashed.
func (h *hostClaim) steps() int {
	if h.at.unreadable {
		return stepsOf(1, h.at.text)
	}
	return 1 + len(h.Name)/8
}

// identity returns the identity of a finding about the host. It has no place: a host that stood in one place of the old
// object is pre-existing in all, but that a host of spec.tls alone, for which nothing is served, is idle. Of a text
// that cannot be read as a name it has text and annotation: two regular expressions are different claims, though both
// may stand for every host. A name that controls another one is part of the identity too: _dmarc.example does not
// exempt _acme-challenge.example.
func (h *hostClaim) identity(check string) identity {
	id, field := hostIdentity(check, h.HostPattern), h.at.in()
	id.idle = field.class == tlsField
	switch {
	case h.at.unreadable:
		id.value, id.use = h.at.text, field.key
	case h.at.speaks:
		id.use = h.at.text
	}
	return id
}

// hostIdentity returns the identity of a finding about a host.
func hostIdentity(check string, host match.HostPattern) identity {
	return identity{check: check, value: host.Name, depth: host.Depth}
}

// hostLookup looks claims up in a set, one after the other.
type hostLookup struct {
	namespace string // of the object; empty for none
	covered   bool   // a pattern covers every host of the domain of the last claim, one label below it
}

// find looks up whether a pattern of the set covers every host that h stands for. It is always the same set, and h is
// the claim after the last one.
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
