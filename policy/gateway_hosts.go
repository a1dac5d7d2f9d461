package policy

import "github.com/evergate/evergate/policy/internal/match"

// listenerHost is the host of a listener.
func listenerHost() claimField {
	return claimField{path: "spec.listeners[%d].hostname", class: listenerField}
}

// claims returns the claims of a Gateway or a ListenerSet: its listeners, in which *.example is any number of labels,
// and its annotations.
func (g *gatewayView) claims(r *report) *claimSet {
	if g.claimed.list != nil {
		return &g.claimed
	}
	claims := make([]hostClaim, 0, len(g.Listeners))
	for i := range g.Listeners {
		host, at := g.Listeners[i].Hostname, claimPlace{in: listenerHost, i: int32(i)}
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
