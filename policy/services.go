package policy

import (
	"errors"
	"fmt"
	"slices"
)

// servicesEntry is one entry of services: a rule for Services. Each field below is a block of checks; one that is
// absent checks nothing, and at least one must be there.
type servicesEntry struct {
	ruleHeader
	// Types: which spec.type a Service may have.
	Types *serviceTypeRules `yaml:"types"`
	// Ports: which ports it may offer.
	Ports *servicePortRules `yaml:"ports"`
	// NodePorts: which ports it may hold on the nodes.
	NodePorts *nodePortRules `yaml:"nodePorts"`
	// AllocateLoadBalancerNodePorts: deny means that a LoadBalancer must set the field of this name to false.
	AllocateLoadBalancerNodePorts denial `yaml:"allocateLoadBalancerNodePorts"`
	// LoadBalancerClass: which implementation of load balancers it may choose.
	LoadBalancerClass *loadBalancerClassRules `yaml:"loadBalancerClass"`
	// LoadBalancerSourceRanges: whom its load balancer may let in.
	LoadBalancerSourceRanges *sourceRangeRules `yaml:"loadBalancerSourceRanges"`
	// ExternalIPs: which addresses it may claim.
	ExternalIPs *externalIPRules `yaml:"externalIPs"`
	// LoadBalancerStatus: which addresses may be written into its status, and by whom.
	LoadBalancerStatus *loadBalancerStatusRules `yaml:"loadBalancerStatus"`
	// ExternalNames: where a Service of type ExternalName may point.
	ExternalNames *externalNameRules `yaml:"externalNames"`
	// Annotations: which annotations it may or must have.
	Annotations *serviceAnnotationRules `yaml:"annotations"`
}

// Validate implements strict.Validator.
func (e *servicesEntry) Validate() error {
	err := e.header.validate(dimensions{requester: true})
	if len(e.checks()) == 0 {
		return errors.Join(err, errNoCheck("types, ports, nodePorts, allocateLoadBalancerNodePorts, loadBalancerClass, "+
			"loadBalancerSourceRanges, externalIPs, loadBalancerStatus, externalNames or annotations"))
	}
	return err
}

// checks compiles the entry. Findings come in the order of its fields.
func (e *servicesEntry) checks() []check[Service] {
	var allocation []check[Service]
	if e.AllocateLoadBalancerNodePorts {
		allocation = append(allocation, serviceAllocation{})
	}
	return slices.Concat(
		e.Types.checks(),
		e.Ports.checks(),
		e.NodePorts.checks(),
		allocation,
		e.LoadBalancerClass.checks(),
		e.LoadBalancerSourceRanges.checks(),
		e.ExternalIPs.checks(),
		e.LoadBalancerStatus.checks(),
		e.ExternalNames.checks(),
		e.Annotations.checks(),
	)
}

// errNothingPasses refuses a block that requires what it then allows nobody to have.
func errNothingPasses(what string) error {
	return fmt.Errorf("requires %s and allows none, so that no LoadBalancer passes: "+
		"say that with types: {denied: [LoadBalancer]}", what)
}
