package policy

import (
	"slices"

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

// ruleHosts returns the claims of the rules of an Ingress, and of its default backend, which serves the hosts that no
// rule names.
func (ing *ingressView) ruleHosts(r *report) []hostClaim {
	if ing.hosts == nil {
		steps := 1
		for i := range ing.Rules {
			steps += stepsOf(1, ing.Rules[i].Host)
		}
		if r.spend(steps) {
			ing.hosts = ruleHosts(ing.Ingress, ing.globs(r))
		}
	}
	return ing.hosts
}

// ruleHosts returns the claims; with globs, *.example is names at any depth.
func ruleHosts(ing *Ingress, globs bool) []hostClaim {
	if len(ing.Rules) == 0 {
		return []hostClaim{claimOf(match.EveryHost(), claimPlace{kind: noRules})}
	}
	hosts := make([]hostClaim, len(ing.Rules), len(ing.Rules)+1)
	for i := range ing.Rules {
		hosts[i] = newClaim(ing.Rules[i].Host, claimPlace{kind: ruleHost, i: int32(i)})
		if globs && hosts[i].Depth == match.OneLabelBelow {
			hosts[i].Depth = match.LabelsBelow
		}
		hosts[i].follow(hosts[:i])
	}
	if ing.DefaultBackend {
		hosts = append(hosts, claimOf(match.EveryHost(), claimPlace{kind: defaultBackend}))
	}
	return hosts
}

// claims returns the claims of all places of an Ingress: its rules, its TLS hosts, for which certificates are ordered,
// and the annotations of the table of hostAnnotations.
func (ing *ingressView) claims(r *report) *claimSet {
	if ing.claimed.list != nil {
		return &ing.claimed
	}
	claims, rules := ing.ruleHosts(r), ing.Rules
	for i := range ing.TLS {
		for j, host := range ing.TLS[i].Hosts {
			if !r.spend(stepsOf(1, host)) {
				return &ing.claimed
			}
			// Most lists of TLS hosts are those of the rules, in their order: one claim is enough for both.
			if len(rules) > 0 && host == rules[0].Host {
				rules = rules[1:]
				continue
			}
			if host == "" || j > 0 && host == ing.TLS[i].Hosts[j-1] { // it names nothing, or nothing more
				continue
			}
			c := newClaim(host, claimPlace{kind: tlsHost, i: int32(i), j: int32(j)})
			c.follow(claims)
			claims = append(slices.Grow(claims, len(ing.TLS[i].Hosts)-j), c)
		}
	}
	ing.claimed.list = ing.annotationClaims("Ingress", &ing.Meta, claims, r)
	return &ing.claimed
}

// claims returns the claims of a Service, which its annotations make.
func (svc *serviceView) claims(r *report) *claimSet {
	if svc.claimed.list == nil { // an empty list is kept, so that the annotations are read once
		svc.claimed.list = svc.annotationClaims("Service", &svc.Meta, []hostClaim{}, r)
	}
	return &svc.claimed
}

// claims returns the claims of a Gateway or a ListenerSet: its listeners, in which *.example is any number of labels,
// and its annotations.
func (g *gatewayView) claims(r *report) *claimSet {
	if g.claimed.list != nil {
		return &g.claimed
	}
	claims := make([]hostClaim, 0, len(g.Listeners))
	for i := range g.Listeners {
		host, at := g.Listeners[i].Hostname, claimPlace{kind: listenerHost, i: int32(i)}
		if !r.spend(stepsOf(1, host)) {
			break
		}
		c := claimOf(match.EveryHost(), at)
		if host != "" {
			c = claimOfText(host, anyDepth(host), at)
		}
		c.follow(claims)
		claims = append(claims, c)
	}
	g.claimed.list = g.annotationClaims(claims, r)
	return &g.claimed
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
// same hosts: users read one sentence about them. A text that cannot be read as a name repeats only the same text before
// it, because another text may be another claim.
func (c *claimSet) repeated(i int, r *report) bool {
	claims := c.list
	switch {
	case claims[i].at.kind < tlsHost:
		return false
	case claims[i].at.unreadable:
		return i > 0 && claims[i-1].at.unreadable && claims[i-1].at.text == claims[i].at.text &&
			claims[i-1].at.key() == claims[i].at.key()
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

// carries reports whether the claim is that of a listener without a host, which serves what routes name, and names
// nothing itself.
func (h *hostClaim) carries() bool {
	return h.at.kind == listenerHost && h.IsEvery() && !h.at.unreadable
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
	id := hostIdentity(check, h.HostPattern)
	id.idle = h.at.kind == tlsHost
	switch {
	case h.at.unreadable:
		id.value, id.use = h.at.text, h.at.key()
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
