package policy

import (
	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// listenerHost is the host of a listener.
func listenerHost() claimField {
	return claimField{path: "spec.listeners[%d].hostname", class: listenerField}
}

// claimsOfGateway returns the claims of a Gateway or a ListenerSet, which its listeners and its annotations make. The *
// of *.example in a listener represents any number of labels. The result is never nil.
//
// The Service that is created for the Gateway gets the annotations in spec.infrastructure. If that field is absent,
// Istio (pilot/pkg/config/kube/gateway/deploymentcontroller.go) puts the Gateway's own annotations on the Service.
// Evergate therefore also evaluates the Gateway's annotations as Service annotations.
func claimsOfGateway(g *object.Gateway, known *knownAnnotations, r *rule.Recorder) []hostClaim {
	claims := make([]hostClaim, 0, len(g.Listeners))
	for i := range g.Listeners {
		name, at := g.Listeners[i].Hostname, claimPlace{in: listenerHost, i: int32(i)}
		if !r.Spend(rule.StepsOf(1, name)) {
			break
		}
		c := claimOf(match.EveryHost(), at)
		if name != "" {
			c = claimOfText(name, host.AnyDepth(name), at)
		}
		c.follow(claims)
		claims = append(claims, c)
	}
	service := known.hostTable("Service")
	claims = claimsOf(g.Annotations, annotationHost, claims, r, known.hostTable("Gateway"), service)
	return claimsOf(g.InfrastructureAnnotations, infrastructureHost, claims, r, service)
}
