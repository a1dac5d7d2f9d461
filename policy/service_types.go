package policy

import (
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// The values of spec.type.
const (
	clusterIP    serviceType = "ClusterIP"
	nodePort     serviceType = "NodePort"
	loadBalancer serviceType = "LoadBalancer"
	externalName serviceType = "ExternalName"
)

// serviceType is a value of spec.type.
type serviceType string

// UnmarshalText accepts the four types of Kubernetes.
func (t *serviceType) UnmarshalText(b []byte) error {
	return rule.ReadWord(t, b, "a type of Service", clusterIP, nodePort, loadBalancer, externalName)
}

// effectiveType returns spec.type, or the Kubernetes default ClusterIP if it is empty.
func (svc *serviceView) effectiveType() serviceType {
	if svc.Type == "" {
		return clusterIP
	}
	return serviceType(svc.Type)
}

// serviceTypeRules is the types block: {allowed: [ClusterIP, ExternalName]} or {denied: [NodePort]}.
type serviceTypeRules struct {
	// Allowed lists the types that pass. All other types are denied. [] denies all types.
	Allowed []serviceType `yaml:"allowed"`
	// Denied lists the types that do not pass. All other types are allowed.
	Denied []serviceType `yaml:"denied"`
}

func (b *serviceTypeRules) Validate() error {
	for _, t := range b.Denied {
		if slices.Contains(b.Allowed, t) {
			return strict.Fieldf("denied", "%s is also allowed: write one of the two lists", t)
		}
	}
	switch {
	case b.Allowed == nil && b.Denied == nil:
		return rule.ErrNoCheck("allowed or denied")
	case b.Allowed != nil && b.Denied != nil:
		return strict.Fieldf("denied",
			"has no effect next to allowed, which already denies every other type: write only one of them")
	}
	return rule.RejectEmpty("denied", b.Denied)
}

// Find is the checks types.allowed and types.denied. It finds a spec.type that is not allowed or is denied. An empty
// type is ClusterIP.
func (b *serviceTypeRules) Find(svc *serviceView, r *rule.Recorder) {
	t := svc.effectiveType()
	if b.Allowed != nil && !slices.Contains(b.Allowed, t) {
		r.Add(rule.Identity{Check: "types.allowed", Value: string(t)}, "spec.type",
			text.Quote(string(t))+" is not allowed"+rule.Passing(b.Allowed))
	}
	if slices.Contains(b.Denied, t) {
		r.Add(rule.Identity{Check: "types.denied", Value: string(t)}, "spec.type",
			text.Quote(string(t))+" is denied; write another type")
	}
}
