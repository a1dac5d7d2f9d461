package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

func readService(r *jsonscan.Reader, s *object.Service) {
	for name := range r.Fields {
		switch string(name) {
		case "metadata":
			readMeta(r, &s.Meta)
		case "spec":
			readServiceSpec(r, s)
		case "status":
			s.LoadBalancerIngress = readServiceStatus(r)
		}
	}
}

func readServiceSpec(r *jsonscan.Reader, s *object.Service) {
	for name := range r.Fields {
		switch string(name) {
		case "type":
			s.Type = r.String()
		case "ports":
			s.Ports = jsonscan.List(r, readServicePort)
		case "externalIPs":
			s.ExternalIPs = r.Strings()
		case "externalName":
			s.ExternalName = r.String()
		case "loadBalancerClass":
			s.LoadBalancerClass = r.OptionalString()
		case "loadBalancerIP":
			s.LoadBalancerIP = r.String()
		case "loadBalancerSourceRanges":
			s.LoadBalancerSourceRanges = r.Strings()
		case "allocateLoadBalancerNodePorts":
			s.AllocateLoadBalancerNodePorts = r.OptionalBool()
		case "healthCheckNodePort":
			s.HealthCheckNodePort = r.Int32()
		case "externalHostname": // of an XBackend
			for name := range r.Fields {
				if string(name) == "hostname" {
					s.ExternalHostname = r.String()
				}
			}
		}
	}
}

func readServicePort(r *jsonscan.Reader, p *object.ServicePort) {
	for name := range r.Fields {
		switch string(name) {
		case "name":
			p.Name = r.String()
		case "port":
			p.Port = r.Int32()
		case "nodePort":
			p.NodePort = r.Int32()
		case "protocol":
			p.Protocol = r.String()
		}
	}
}

// readServiceStatus returns status.loadBalancer.ingress.
func readServiceStatus(r *jsonscan.Reader) (points []object.LoadBalancerIngress) {
	for name := range r.Fields {
		if string(name) != "loadBalancer" {
			continue
		}
		for name := range r.Fields {
			if string(name) == "ingress" {
				points = jsonscan.List(r, readLoadBalancerIngress)
			}
		}
	}
	return points
}

func readLoadBalancerIngress(r *jsonscan.Reader, p *object.LoadBalancerIngress) {
	for name := range r.Fields {
		switch string(name) {
		case "ip":
			p.IP = r.String()
		case "hostname":
			p.Hostname = r.String()
		case "ipMode":
			p.IPMode = r.String()
		case "ports":
			p.Ports = r.Text(r.Raw())
		}
	}
}
