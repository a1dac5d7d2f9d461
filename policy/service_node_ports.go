package policy

import (
	"fmt"
	"strconv"
)

// nodePortRules is the field nodePorts: {allowed: []} or {allowed: ["30000-30999"]}.
type nodePortRules struct {
	// Allowed lists the node ports, and ranges of them, that a Service of any type may hold. [] denies all.
	Allowed portRanges `yaml:"allowed,required"`
}

func (b *nodePortRules) checks() []check[Service] {
	if b == nil {
		return nil
	}
	return []check[Service]{nodePortsAllowed{b.Allowed}}
}

// nodePortsAllowed (nodePorts.allowed) finds each node port outside the ranges: spec.ports[].nodePort, of NodePort
// Services and of LoadBalancers alike, and spec.healthCheckNodePort.
//
// The API server allocates the node ports that a Service needs and does not name before it asks any webhook. So the
// user often never wrote the port that is found, and to remove it would bring another one: the sentence names the field
// that keeps the API server from allocating it. A LoadBalancer's node ports stay when the allocation is switched off
// on an update; its health check port is there for externalTrafficPolicy Local alone.
type nodePortsAllowed struct{ ranges portRanges }

func (c nodePortsAllowed) find(svc *Service, r *report) {
	for i, p := range svc.Ports {
		c.judge(fmt.Sprintf("spec.ports[%d].nodePort", i), "", p.NodePort, portMend(svc.typ()), r)
	}
	c.judge("spec.healthCheckNodePort", "health checks ", svc.HealthCheckNodePort, "set spec.externalTrafficPolicy to Cluster", r)
}

// judge adds a finding for a node port that does not pass. use tells its identity apart from that of a port with the
// same number that is used otherwise, mend says how to have none.
func (c nodePortsAllowed) judge(path, use string, port int32, mend string, r *report) {
	if port == 0 || c.ranges.contains(port) {
		return
	}
	f := Finding{Check: "nodePorts.allowed", Path: path, Value: use + strconv.Itoa(int(port))}
	const origin = "; if you did not write it, the API server allocated it: "
	if len(c.ranges) == 0 {
		f.Reason = fmt.Sprintf("node port %d is not allowed%s%s", port, origin, mend)
	} else {
		f.Reason = fmt.Sprintf("node port %d is not allowed; allowed: %s%swrite one that is allowed, or %s",
			port, listing(c.ranges.strings()), origin, mend)
	}
	r.add(f)
}

func portMend(t serviceType) string {
	if t == loadBalancer {
		return "set spec.allocateLoadBalancerNodePorts to false and remove every nodePort"
	}
	return "set spec.type to ClusterIP"
}

// serviceAllocation (allocateLoadBalancerNodePorts) finds a LoadBalancer that has node ports allocated to it:
// spec.allocateLoadBalancerNodePorts is true, or absent, which means the same. Load balancers that reach Pods without
// going through nodes have no use for node ports, which are then a second, unguarded way in.
type serviceAllocation struct{}

func (serviceAllocation) find(svc *Service, r *report) {
	if svc.typ() != loadBalancer || svc.AllocateLoadBalancerNodePorts != nil && !*svc.AllocateLoadBalancerNodePorts {
		return
	}
	r.add(Finding{
		Check:  "allocateLoadBalancerNodePorts",
		Path:   "spec.allocateLoadBalancerNodePorts",
		Reason: "node ports are allocated to this LoadBalancer, which is denied; set it to false",
		Value:  "true",
	})
}
