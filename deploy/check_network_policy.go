package deploy

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// networkPolicy: where NetworkPolicies restrict what reaches Evergate's Pods, one of them lets the serving port be
// reached from everywhere or from addresses. API servers are no Pods, so that no selector of Pods allows them.
func networkPolicy() check {
	return check{
		id: "network-policy", severity: Error, needs: []premise{coherent(), selected(), agreed()},
		finds: "NetworkPolicies that keep the API server out",
		why: "each call runs into its timeout, and so does every matched write, before it is refused or let " +
			"through unchecked",
		fix: "allow the port of --listen without from, or from the addresses of the API servers (ipBlock)",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				l, ok := s.listener("listen")
				policies := c.restricting(s, networkingv1.PolicyTypeIngress)
				admits := func(p *networkingv1.NetworkPolicy) bool {
					return slices.ContainsFunc(p.Spec.Ingress, s.admitsAddresses(l.port))
				}
				if ok && len(policies) > 0 && !slices.ContainsFunc(policies, admits) {
					r.error(c.ref(policies[0]), "nothing but Pods may reach port %d of %s", l.port, s.ref)
				}
			}
		},
	}
}

// admitsAddresses returns whether a rule lets something that is not a Pod reach a port.
func (s *server) admitsAddresses(port int32) func(networkingv1.NetworkPolicyIngressRule) bool {
	return func(rule networkingv1.NetworkPolicyIngressRule) bool {
		return holdsAddresses(rule.From) && holdsPort(rule.Ports, port, s.namedPort)
	}
}
