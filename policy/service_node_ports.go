package policy

import (
	"fmt"

	"github.com/evergate/evergate/internal/text"
)

// nodePortRules is the field nodePorts: {allowed: []} or {allowed: ["30000-30999"]}.
type nodePortRules struct {
	// Allowed lists the node ports, and ranges of them, that a Service of any type may have. [] denies all.
	Allowed portRanges `yaml:"allowed,required"`
}

func (b *nodePortRules) checks() []check[serviceView] {
	if b == nil {
		return nil
	}
	return []check[serviceView]{nodePortsAllowed{b.Allowed, text.List(stringsOf(b.Allowed))}}
}

// nodePortsAllowed (nodePorts.allowed) finds each node port outside the ranges: spec.ports[].nodePort, of NodePort
// Services and of LoadBalancers alike, and spec.healthCheckNodePort.
//
// The API server allocates the node ports that a Service needs and does not name before it calls any webhook. Users
// therefore often did not write the port of a finding, and if they removed it the API server would allocate another:
// the sentence names the field that disables the allocation. A LoadBalancer keeps its node ports when an update
// disables the allocation; its health check port exists for externalTrafficPolicy Local only.
type nodePortsAllowed struct {
	ranges  portRanges
	allowed string // the ranges, as sentences list them
}

func (c nodePortsAllowed) find(svc *serviceView, r *report) {
	for i := range svc.Ports {
		if !r.spend(c.ranges.steps()) {
			return
		}
		port := svc.Ports[i].NodePort
		if port == 0 || c.ranges.contains(port) {
			continue
		}
		if f := r.tryAdd(identity{check: "nodePorts.allowed", value: portText(port)}); f != nil {
			f.Path, f.Reason = fmt.Sprintf("spec.ports[%d].nodePort", i), c.reason(port, portFix(svc.effectiveType()))
		}
	}
	if port := svc.HealthCheckNodePort; port != 0 && !c.ranges.contains(port) {
		id := identity{check: "nodePorts.allowed", value: portText(port), use: "health checks"}
		r.add(id, "spec.healthCheckNodePort", c.reason(port, "set spec.externalTrafficPolicy to Cluster"))
	}
}

// reason returns the sentence about a node port that does not pass. fix says how to have none.
func (c nodePortsAllowed) reason(port int32, fix string) string {
	const origin = "; if you did not write it, the API server allocated it: "
	if len(c.ranges) == 0 {
		return fmt.Sprintf("node port %d is not allowed%s%s", port, origin, fix)
	}
	return fmt.Sprintf("node port %d is not allowed; allowed: %s%swrite one that is allowed, or %s",
		port, c.allowed, origin, fix)
}

// portFix returns how a Service of a type has no node ports.
func portFix(t serviceType) string {
	if t == loadBalancer {
		return "set spec.allocateLoadBalancerNodePorts to false and remove every nodePort"
	}
	return "set spec.type to ClusterIP"
}

// serviceAllocation (allocateLoadBalancerNodePorts) finds a LoadBalancer that has node ports allocated to it:
// spec.allocateLoadBalancerNodePorts is true, or absent, which means the same. A load balancer that sends traffic to
// Pods directly needs no node ports, which then only bypass it.
type serviceAllocation struct{}

func (serviceAllocation) find(svc *serviceView, r *report) {
	allocate := svc.AllocateLoadBalancerNodePorts
	if svc.effectiveType() != loadBalancer || allocate != nil && !*allocate {
		return
	}
	r.add(identity{check: "allocateLoadBalancerNodePorts", value: "true"}, "spec.allocateLoadBalancerNodePorts",
		"node ports are allocated to this LoadBalancer, which is denied; set it to false")
}
