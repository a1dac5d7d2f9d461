package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

func TestNodePorts(t *testing.T) {
	const (
		denied  = " is not allowed; if you did not write it, the API server allocated it: "
		outside = " is not allowed; allowed: 30000-30099; if you did not write it, the API server allocated it: " +
			"write one that is allowed, or "
		ranged = `nodePorts: {allowed: ["30000-30099"]}`
		none   = "nodePorts: {allowed: []}"
	)
	svc := func(typ string, nodePorts ...int32) object.Service {
		s := object.Service{Type: typ}
		for _, p := range nodePorts {
			s.Ports = append(s.Ports, object.ServicePort{Port: 80, NodePort: p})
		}
		return s
	}
	local := svc("LoadBalancer", 0)
	local.HealthCheckNodePort = 31000
	testServices(t, []serviceCase{
		{"without node ports", none, svc("LoadBalancer", 0, 0), nil},
		{"NodePort", none, svc("NodePort", 31000), []string{
			"r/nodePorts.allowed: spec.ports[0].nodePort: node port 31000" + denied + "set spec.type to ClusterIP"}},
		{"LoadBalancer", none, svc("LoadBalancer", 0, 31000), []string{
			"r/nodePorts.allowed: spec.ports[1].nodePort: node port 31000" + denied +
				"set spec.allocateLoadBalancerNodePorts to false and remove every nodePort"}},
		{"inside", ranged, svc("NodePort", 30000, 30099), nil},
		{"outside", ranged, svc("NodePort", 29999, 30100), []string{
			"r/nodePorts.allowed: spec.ports[0].nodePort: node port 29999" + outside + "set spec.type to ClusterIP",
			"r/nodePorts.allowed: spec.ports[1].nodePort: node port 30100" + outside + "set spec.type to ClusterIP"}},
		{"health checks", ranged, local, []string{
			"r/nodePorts.allowed: spec.healthCheckNodePort: node port 31000" + outside +
				"set spec.externalTrafficPolicy to Cluster"}},
	})
}

func TestAllocateLoadBalancerNodePorts(t *testing.T) {
	const rule = "allocateLoadBalancerNodePorts: deny"
	want := []string{"r/allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts: node ports are allocated to this " +
		"LoadBalancer, which is denied; set it to false"}
	testServices(t, []serviceCase{
		{"absent is true", rule, object.Service{Type: "LoadBalancer"}, want},
		{"true", rule, object.Service{Type: "LoadBalancer", AllocateLoadBalancerNodePorts: new(true)}, want},
		{"false", rule, object.Service{Type: "LoadBalancer", AllocateLoadBalancerNodePorts: new(false)}, nil},
		{"another type", rule, object.Service{Type: "NodePort"}, nil},
	})
}
