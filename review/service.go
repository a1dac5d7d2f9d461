package review

import "github.com/evergate/evergate/policy"

func (r *reader) service(s *policy.Service) {
	for field := range r.fields(serviceObjectFields) {
		switch field {
		case "metadata":
			r.meta(&s.Meta, metaFields)
		case "spec":
			r.serviceSpec(s)
		case "status":
			s.LoadBalancerIngress = r.serviceStatus()
		}
	}
}

var (
	serviceObjectFields = fieldsOf("-kind", "-apiVersion", "metadata", "spec", "status")
	serviceStatusFields = fieldsOf("loadBalancer", "-conditions")
	balancerFields      = fieldsOf("ingress")
	ingressPointFields  = fieldsOf("ip", "hostname", "-ipMode", "-ports")
)

func (r *reader) serviceStatus() (points []policy.LoadBalancerIngress) {
	for field := range r.fields(serviceStatusFields) {
		if field != "loadBalancer" {
			continue
		}
		for field := range r.fields(balancerFields) {
			if field == "ingress" {
				points = list(r, (*reader).ingressPoint)
			}
		}
	}
	return points
}

func (r *reader) ingressPoint(p *policy.LoadBalancerIngress) {
	for field := range r.fields(ingressPointFields) {
		switch field {
		case "ip":
			p.IP = r.string()
		case "hostname":
			p.Hostname = r.string()
		}
	}
}

var serviceFields = fieldsOf("ports", "-selector", "-clusterIP", "-clusterIPs", "type", "externalIPs", "-sessionAffinity",
	"loadBalancerSourceRanges", "externalName", "-externalTrafficPolicy", "healthCheckNodePort", "-ipFamilies", "-ipFamilyPolicy",
	"allocateLoadBalancerNodePorts", "loadBalancerClass", "-internalTrafficPolicy")

func (r *reader) serviceSpec(s *policy.Service) {
	for field := range r.fields(serviceFields) {
		switch field {
		case "type":
			s.Type = r.string()
		case "ports":
			s.Ports = list(r, (*reader).servicePort)
		case "externalIPs":
			s.ExternalIPs = r.strings()
		case "externalName":
			s.ExternalName = r.string()
		case "loadBalancerClass":
			s.LoadBalancerClass = r.optionalString()
		case "loadBalancerSourceRanges":
			s.LoadBalancerSourceRanges = r.strings()
		case "allocateLoadBalancerNodePorts":
			s.AllocateLoadBalancerNodePorts = r.optionalBool()
		case "healthCheckNodePort":
			s.HealthCheckNodePort = r.int32()
		}
	}
}

var servicePortFields = fieldsOf("name", "-protocol", "-appProtocol", "port", "-targetPort", "nodePort")

func (r *reader) servicePort(p *policy.ServicePort) {
	for field := range r.fields(servicePortFields) {
		switch field {
		case "name":
			p.Name = r.string()
		case "port":
			p.Port = r.int32()
		case "nodePort":
			p.NodePort = r.int32()
		}
	}
}
