package policy

import (
	"errors"
	"fmt"
	"slices"
)

// servicesEntry is an entry of services: a rule for Services. Each field below is a block of checks; an absent one
// checks nothing, and at least one is required. XBackends of Gateway API are judged by externalNames alone.
type servicesEntry struct {
	ruleHeader
	// Hosts: which hosts its annotations may claim: for external-dns, for certificates.
	Hosts *hostRules `yaml:"hosts"`
	// Types: which spec.type a Service may have.
	Types *serviceTypeRules `yaml:"types"`
	// Ports: which ports it may have.
	Ports *portRules `yaml:"ports"`
	// NodePorts: which node ports it may have.
	NodePorts *nodePortRules `yaml:"nodePorts"`
	// AllocateLoadBalancerNodePorts: deny means that a LoadBalancer must set the field of this name to false.
	AllocateLoadBalancerNodePorts denial `yaml:"allocateLoadBalancerNodePorts"`
	// LoadBalancerClass: which load balancer implementation it may choose.
	LoadBalancerClass *loadBalancerClassRules `yaml:"loadBalancerClass"`
	// LoadBalancerSourceRanges: from which clients its load balancer may accept connections.
	LoadBalancerSourceRanges *sourceRangeRules `yaml:"loadBalancerSourceRanges"`
	// ExternalIPs: which external addresses it may have.
	ExternalIPs *externalIPRules `yaml:"externalIPs"`
	// LoadBalancerStatus: which addresses its status may have, and which users may write them.
	LoadBalancerStatus *loadBalancerStatusRules `yaml:"loadBalancerStatus"`
	// ExternalNames: where a Service of type ExternalName, or an XBackend, may point.
	ExternalNames *externalNameRules `yaml:"externalNames"`
	// Annotations: which annotations it may or must have.
	Annotations *serviceAnnotationRules `yaml:"annotations"`
}

// Suggest implements strict.Suggester.
func (e *servicesEntry) Suggest(field string) []string { return serviceDimensions().suggest(field) }

// Validate implements strict.Validator.
func (e *servicesEntry) Validate() error {
	err := e.header.validate(serviceDimensions())
	if len(e.checks()) == 0 {
		return errors.Join(err, errNoCheck("hosts, types, ports, nodePorts, allocateLoadBalancerNodePorts, "+
			"loadBalancerClass, loadBalancerSourceRanges, externalIPs, loadBalancerStatus, externalNames or annotations"))
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
		hostChecks(e.Hosts, (*report).serviceClaims, "metadata.annotations"),
		unlessSolvers(slices.Concat(
			e.Types.checks(), portChecks(e.Ports, "spec.ports", (*Service).port), e.NodePorts.checks())),
		allocation,
		e.LoadBalancerClass.checks(),
		e.LoadBalancerSourceRanges.checks(),
		e.ExternalIPs.checks(),
		e.LoadBalancerStatus.checks(),
		e.ExternalNames.checks(),
		e.Annotations.checks(),
	)
}

// errNothingPasses refuses a block that requires a field and allows no value of it.
func errNothingPasses(what string) error {
	return fmt.Errorf("requires %s and allows none, so that no LoadBalancer passes: "+
		"say that with types: {denied: [LoadBalancer]}", what)
}
