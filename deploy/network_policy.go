package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// networkPolicy: where NetworkPolicies restrict what reaches Evergate's Pods, one of them lets the serving port be
// reached from everywhere or from addresses. API servers are no Pods, so that no selector of Pods lets them in.
func networkPolicy() check {
	return check{
		id: "network-policy", severity: Error,
		finds: "NetworkPolicies that keep the API server out",
		why: "each call runs into its timeout, and so does every matched write, before it is refused or let " +
			"through unchecked",
		mend: "allow the port of --listen without from, or from the addresses of the API servers (ipBlock)",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				var policies []*networkingv1.NetworkPolicy
				for _, p := range c.NetworkPolicies {
					if p.Namespace == s.Namespace && restrictsIngress(p) && selects(&p.Spec.PodSelector, s.templateLabels()) {
						policies = append(policies, p)
					}
				}
				admits := func(p *networkingv1.NetworkPolicy) bool {
					return slices.ContainsFunc(p.Spec.Ingress, s.admitsAddresses)
				}
				if len(policies) > 0 && !slices.ContainsFunc(policies, admits) {
					r.error(c.ref(policies[0]), "nothing but Pods may reach port %d of %s", s.flags.port("listen"),
						s.ref)
				}
			}
		},
	}
}

func restrictsIngress(p *networkingv1.NetworkPolicy) bool {
	return len(p.Spec.PolicyTypes) == 0 || slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
}

// admitsAddresses says whether a rule lets something that is not a Pod reach the serving port.
func (s *server) admitsAddresses(rule networkingv1.NetworkPolicyIngressRule) bool {
	from := len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(p networkingv1.NetworkPolicyPeer) bool {
		return p.IPBlock != nil
	})
	listen := s.flags.port("listen")
	port := len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP:
			return false
		case p.Port == nil:
			return true
		case p.EndPort != nil:
			return s.port(*p.Port) <= listen && listen <= *p.EndPort
		}
		return s.port(*p.Port) == listen
	})
	return from && port
}
