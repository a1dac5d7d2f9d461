package deploy

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// networkPolicy checks that one NetworkPolicy allows the serving port from everywhere or from addresses, if
// NetworkPolicies restrict access to Evergate's Pods. API servers are not Pods, so a Pod selector cannot allow them.
func networkPolicy() check {
	return check{
		id: "network-policy", severity: Error, needs: []premise{coherent(), selected(), agreed()},
		finds: "NetworkPolicies that block the API server by its IP address, its IP family, the port or the protocol",
		why: "each call times out. Every matched write waits for this timeout before the API server rejects it or " +
			"admits it unchecked",
		fix: "allow ingress to the port of --listen from everywhere (a rule without from), or from the addresses of " +
			"the API servers (ipBlock)",
		run: eachServer((*cluster).checkIngress),
	}
}

func (c *cluster) checkIngress(s *server, r *reporter) {
	l, ok := s.listener("listen")
	policies := c.restricting(s, networkingv1.PolicyTypeIngress)
	if !ok || len(policies) == 0 {
		return
	}
	var byAddress, byPods bool // a rule allows only addresses of another family; only Pods
	// The policies that allow only the port of the Service, only UDP, and a port whose name no container has.
	var byPort, byProtocol, byName *networkingv1.NetworkPolicy
	var unknown string // the name of this port
	family, known := c.family()
	for _, p := range policies {
		for _, rule := range p.Spec.Ingress {
			switch onPort := holdsPort(rule.Ports, l.port, s.namedPort); {
			case onPort && holdsAddresses(rule.From) && (!known || holdsFamily(rule.From, family)):
				return
			case onPort && holdsAddresses(rule.From):
				byAddress = true
			case holdsAddresses(rule.From) && holdsPort(rule.Ports, c.calledPort(), s.namedPort):
				byPort = p
			case onPort:
				byPods = true
			case holdsPortOf(corev1.ProtocolUDP, rule.Ports, l.port, s.namedPort):
				byProtocol = p
			}
			for _, port := range rule.Ports {
				if port.Port != nil && port.Port.StrVal != "" && containerPort(s.pod.Containers, port.Port.StrVal) == 0 {
					byName, unknown = p, port.Port.StrVal
				}
			}
		}
	}
	switch at := c.ref(policies[0]); {
	case byAddress:
		r.error(at, "no %s address may reach port %d of %s, and %s is the family of its Service", family, l.port, s.ref,
			family)
	case byPort != nil:
		r.error(c.ref(byPort), "it opens port %d of the Service, and calls arrive at the Pods of %s on port %d",
			c.calledPort(), s.ref, l.port)
	case byPods:
		r.error(at, "only Pods may reach port %d of %s", l.port, s.ref)
	case byProtocol != nil:
		r.error(c.ref(byProtocol), "it opens port %d of %s only for UDP, and calls use TCP", l.port, s.ref)
	case byName != nil:
		r.error(c.ref(byName), "it opens the port %q, which no container of %s has", unknown, s.ref)
	default:
		r.error(at, "no NetworkPolicy opens port %d of %s", l.port, s.ref)
	}
}

// calledPort returns the port of the Service that webhooks call.
func (c *cluster) calledPort() int32 {
	for _, h := range c.hooks {
		if h.ClientConfig.Service != nil {
			return h.servicePort()
		}
	}
	return 0
}

// family returns the family of the addresses at which webhooks call the Service. For a dual-stack Service it is the
// first family. known is false if the Service does not have an address yet.
func (c *cluster) family() (family corev1.IPFamily, known bool) {
	for _, h := range c.hooks {
		svc := c.service(h)
		switch {
		case svc == nil:
		case len(svc.Spec.IPFamilies) > 0:
			return svc.Spec.IPFamilies[0], true
		case strings.Contains(svc.Spec.ClusterIP, ":"):
			return corev1.IPv6Protocol, true
		case svc.Spec.ClusterIP != "" && svc.Spec.ClusterIP != corev1.ClusterIPNone:
			return corev1.IPv4Protocol, true
		}
	}
	return "", false
}

// holdsFamily reports whether peers of a rule contain addresses of a family.
func holdsFamily(peers []networkingv1.NetworkPolicyPeer, family corev1.IPFamily) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		return p.IPBlock != nil && strings.Contains(p.IPBlock.CIDR, ":") == (family == corev1.IPv6Protocol)
	})
}
