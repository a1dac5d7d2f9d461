package policy

import (
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
)

// nodePortRules is the nodePorts block: {allowed: []} or {allowed: ["30000-30999"]}.
type nodePortRules struct {
	// Allowed lists the node ports, and ranges of node ports, that a Service of any type may have. [] denies all node
	// ports.
	Allowed portRanges `yaml:"allowed,required"`
}

func (b *nodePortRules) checks() []rule.Check[serviceView] {
	return []rule.Check[serviceView]{nodePortsAllowed{b.Allowed, text.List(text.Strings(b.Allowed))}}
}

// nodePortsAllowed is the check nodePorts.allowed. It finds each node port outside the ranges: spec.ports[].nodePort of
// NodePort and LoadBalancer Services, and spec.healthCheckNodePort.
//
// If a Service needs node ports but does not set them, the API server allocates them before it calls any webhook. Users
// therefore often did not write the port of a finding. If they removed the port, the API server would allocate another
// port, so the message includes the field that disables the allocation. A LoadBalancer keeps its node ports when an
// update disables the allocation. Its health check port exists only for externalTrafficPolicy Local.
type nodePortsAllowed struct {
	ranges  portRanges
	allowed string // the ranges, for messages
}

func (c nodePortsAllowed) Find(svc *serviceView, r *rule.Recorder) {
	for i := range svc.Ports {
		if !r.Spend(c.ranges.steps()) {
			return
		}
		port := svc.Ports[i].NodePort
		if port == 0 || c.ranges.contains(port) {
			continue
		}
		id := rule.Identity{Check: "nodePorts.allowed", Value: portText(port), Use: protocol(&svc.Ports[i])}
		if f := r.TryAdd(id); f != nil {
			f.Path, f.Reason = fmt.Sprintf("spec.ports[%d].nodePort", i), c.reason(port, portFix(svc.effectiveType()))
		}
	}
	if port := svc.HealthCheckNodePort; port != 0 && !c.ranges.contains(port) {
		id := rule.Identity{Check: "nodePorts.allowed", Value: portText(port), Use: "health checks"}
		r.Add(id, "spec.healthCheckNodePort", c.reason(port, "set spec.externalTrafficPolicy to Cluster"))
	}
}

// reason returns the message about a node port that does not pass. fix is how to avoid node ports.
func (c nodePortsAllowed) reason(port int32, fix string) string {
	const origin = "; if you did not write it, the API server allocated it: "
	if len(c.ranges) == 0 {
		return fmt.Sprintf("node port %d is not allowed%s%s", port, origin, fix)
	}
	return fmt.Sprintf("node port %d is not allowed; allowed: %s%swrite one that is allowed, or %s",
		port, c.allowed, origin, fix)
}

func portFix(t serviceType) string {
	if t == loadBalancer {
		return "set spec.allocateLoadBalancerNodePorts to false and remove every nodePort"
	}
	return "set spec.type to ClusterIP"
}

// serviceAllocation is the check allocateLoadBalancerNodePorts. It finds a LoadBalancer for which node ports are
// allocated: spec.allocateLoadBalancerNodePorts is true, or absent, which means the same. If a load balancer sends
// traffic directly to Pods, node ports are not needed and only provide a way around it.
type serviceAllocation struct{}

func (serviceAllocation) Find(svc *serviceView, r *rule.Recorder) {
	allocate := svc.AllocateLoadBalancerNodePorts
	if svc.effectiveType() != loadBalancer || allocate != nil && !*allocate {
		return
	}
	r.Add(rule.Identity{Check: "allocateLoadBalancerNodePorts", Value: "true"}, "spec.allocateLoadBalancerNodePorts",
		"node ports are allocated to this LoadBalancer, which is denied; set it to false")
}
