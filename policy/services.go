package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// servicesEntry is an entry of services: a rule for Services. Each field below is a block of checks. At least one block
// is required, and an absent block does not check anything. Only the externalNames block applies to Gateway API
// XBackends.
type servicesEntry struct {
	rule.RuleHeader
	// Hosts: which hosts its annotations may claim, for example for external-dns or for certificates.
	Hosts *claim.HostRules `yaml:"hosts"`
	// Types: which spec.type a Service may have.
	Types *serviceTypeRules `yaml:"types"`
	// Ports: which ports it may have.
	Ports *portRules `yaml:"ports"`
	// NodePorts: which node ports it may have.
	NodePorts *nodePortRules `yaml:"nodePorts"`
	// AllocateLoadBalancerNodePorts: deny means that a LoadBalancer must set spec.allocateLoadBalancerNodePorts to false.
	AllocateLoadBalancerNodePorts rule.Denial `yaml:"allocateLoadBalancerNodePorts"`
	// LoadBalancerClass: which load balancer implementation it may choose.
	LoadBalancerClass *loadBalancerClassRules `yaml:"loadBalancerClass"`
	// LoadBalancerSourceRanges: which clients its load balancer may accept connections from.
	LoadBalancerSourceRanges *sourceRangeRules `yaml:"loadBalancerSourceRanges"`
	// LoadBalancerIPs: which addresses it may request for its load balancer.
	LoadBalancerIPs *loadBalancerIPRules `yaml:"loadBalancerIPs"`
	// ExternalIPs: which external addresses it may have.
	ExternalIPs *externalIPRules `yaml:"externalIPs"`
	// LoadBalancerStatus: which addresses its status may have, and which users may write them.
	LoadBalancerStatus *loadBalancerStatusRules `yaml:"loadBalancerStatus"`
	// ExternalNames: which hosts a Service of type ExternalName, or an XBackend, may point to.
	ExternalNames *externalNameRules `yaml:"externalNames"`
	// Annotations: which annotations it may or must have.
	Annotations *serviceAnnotationRules `yaml:"annotations"`
}

func (e *servicesEntry) Suggest(field string) []string {
	return rule.ServiceDimensions().Suggest(field)
}

func (e *servicesEntry) Validate() error {
	return errors.Join(e.Header.ValidateFor(rule.ServiceDimensions()), rule.RejectNone(e.checks(), "hosts, types, ports, "+
		"nodePorts, allocateLoadBalancerNodePorts, loadBalancerClass, loadBalancerSourceRanges, "+
		"loadBalancerIPs, externalIPs, loadBalancerStatus, externalNames or annotations"))
}

// serviceView is a Service and the values that its checks parse.
type serviceView struct {
	*object.Service
	view
	claimed           claim.Set          // see claims
	externalHost      *match.HostPattern // see externalTarget
	externalAddresses []address          // see externalIPs
	statusAddresses   []address          // see statusIPs
	ranges            []sourceRange      // see sourceRanges
	requested         []requestedIP      // see requestedIPs
}

func viewService(svc *object.Service) serviceView { return serviceView{Service: svc} }

// servicesAndBackends contains the rules for Services and the rules for XBackends.
type servicesAndBackends struct{ services, backends rules[object.Service] }

func serviceRules(b *blocks, c *compilation) rules[object.Service] {
	return servicesAndBackends{
		rulesOf(b.Services, c, viewService, func(e *servicesEntry) rule.Rule[serviceView] {
			return rule.New(e.RuleHeader, e.checks())
		}, (*serviceView).answersChallenges, claim.OwnerRules(c.owners, (*serviceView).claims)...),
		rulesOf(b.Services, c, viewService, (*servicesEntry).backendRule, nil),
	}
}

func (s servicesAndBackends) of(a object.Attributes) rules[object.Service] {
	if a.Resource == xBackends {
		return s.backends
	}
	return s.services
}

func (s servicesAndBackends) Evaluate(a object.Attributes, svc, old *object.Service, e *Effort) ([]Finding, error) {
	return s.of(a).Evaluate(a, svc, old, e)
}

func (s servicesAndBackends) Explain(a object.Attributes, svc *object.Service) []RuleTrace {
	return s.of(a).Explain(a, svc)
}

// StrictestMode is the mode of the rules for Services, because they include the rules for XBackends.
func (s servicesAndBackends) StrictestMode() Mode { return s.services.StrictestMode() }

func (svc *serviceView) claims(r *rule.Recorder) *claim.Set {
	if svc.claimed.List == nil {
		svc.claimed.List = claim.OfService(svc.Service, svc.known, r)
	}
	return &svc.claimed
}

// checks compiles the entry. Findings are in the order of its fields.
func (e *servicesEntry) checks() []rule.Check[serviceView] {
	return slices.Concat(
		claim.Checks(e.Hosts, (*serviceView).claims, "metadata.annotations"),
		unlessSolvers(slices.Concat(
			rule.Checks(rule.When(e.Types != nil, e.Types)), portChecks(e.Ports, "spec.ports", (*serviceView).port),
			rule.ChecksOf(e.NodePorts, (*nodePortRules).checks))),
		rule.Checks(rule.When(e.AllocateLoadBalancerNodePorts, serviceAllocation{}),
			rule.When(e.LoadBalancerClass != nil, e.LoadBalancerClass)),
		rule.ChecksOf(e.LoadBalancerSourceRanges, (*sourceRangeRules).checks),
		rule.ChecksOf(e.LoadBalancerIPs, (*loadBalancerIPRules).checks),
		rule.ChecksOf(e.ExternalIPs, (*externalIPRules).checks),
		rule.ChecksOf(e.LoadBalancerStatus, (*loadBalancerStatusRules).checks),
		rule.ChecksOf(e.ExternalNames, (*externalNameRules).checks),
		rule.ChecksOf(e.Annotations, (*serviceAnnotationRules).checks),
	)
}

// rejectNothingPasses returns an error for a block about LoadBalancers that does not check anything, or that requires a
// value but does not allow any.
func rejectNothingPasses[T any](required bool, allowed []T, what string) error {
	switch {
	case !required && allowed == nil:
		return rule.ErrNoCheck("required: true or allowed")
	case required && allowed != nil && len(allowed) == 0:
		return fmt.Errorf("requires %s and does not allow any, so no LoadBalancer passes: "+
			"write types: {denied: [LoadBalancer]} instead", what)
	}
	return nil
}
