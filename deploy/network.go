package deploy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// restricting returns the NetworkPolicies that restrict traffic to the Pods of a server (Ingress) or from them
// (Egress). Without such a policy, all traffic passes. NetworkPolicies do not apply to Pods in the host network.
func (c *cluster) restricting(s *server, direction networkingv1.PolicyType) []*networkingv1.NetworkPolicy {
	return filter(c.networkPolicies, func(p *networkingv1.NetworkPolicy) bool {
		return p.Namespace == s.Namespace && restricts(p, direction) && !s.pod.HostNetwork &&
			selects(&p.Spec.PodSelector, s.templateLabels())
	})
}

// restricts reports whether a policy applies to a direction. Without policyTypes, it applies to ingress, and to
// egress if it has egress rules.
func restricts(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) bool {
	if len(p.Spec.PolicyTypes) > 0 {
		return slices.Contains(p.Spec.PolicyTypes, direction)
	}
	return direction == networkingv1.PolicyTypeIngress || len(p.Spec.Egress) > 0
}

// holdsPort reports whether the ports of a rule include a TCP port. named resolves port names, to 0 if a name is not
// known.
func holdsPort(ports []networkingv1.NetworkPolicyPort, port int32, named func(string) int32) bool {
	return holdsPortOf(corev1.ProtocolTCP, ports, port, named)
}

// holdsUDPPort reports whether the ports of a rule include a UDP port. A port name is assumed to match.
func holdsUDPPort(ports []networkingv1.NetworkPolicyPort, port int32) bool {
	return holdsPortOf(corev1.ProtocolUDP, ports, port, func(string) int32 { return port })
}

func holdsPortOf(
	protocol corev1.Protocol, ports []networkingv1.NetworkPolicyPort, port int32, named func(string) int32,
) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case p.Protocol == nil && protocol != corev1.ProtocolTCP, p.Protocol != nil && *p.Protocol != protocol:
			return false // the API's default is TCP
		case p.Port == nil:
			return true
		case p.Port.StrVal != "":
			return named(p.Port.StrVal) == port
		case p.EndPort != nil:
			return p.Port.IntVal <= port && port <= *p.EndPort
		}
		return p.Port.IntVal == port
	})
}

// holdsNamespace reports whether peers of a rule in the namespace own include Pods of a namespace, or may include
// them. An address (ipBlock) may be the address of such a Pod. The labels of the Pods are not checked.
func (c *cluster) holdsNamespace(peers []networkingv1.NetworkPolicyPeer, own, namespace string) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			return true
		case p.NamespaceSelector == nil:
			return own == namespace
		case find(c.namespaces, "", namespace) == nil: // its labels are not known
			return canSelect(p.NamespaceSelector, namespace)
		}
		return selects(p.NamespaceSelector, c.namespaceLabels(namespace))
	})
}

// holdsAddresses reports whether peers of a rule include addresses outside Pods.
func holdsAddresses(peers []networkingv1.NetworkPolicyPeer) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		return p.IPBlock != nil
	})
}

// holdsAddress reports whether peers of a rule include an address outside Pods, or may include it if it is not known.
func holdsAddress(peers []networkingv1.NetworkPolicyPeer, ip netip.Addr) bool {
	if !ip.IsValid() {
		return holdsAddresses(peers)
	}
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		return p.IPBlock != nil && contains(p.IPBlock.CIDR, ip) &&
			!slices.ContainsFunc(p.IPBlock.Except, func(cidr string) bool { return contains(cidr, ip) })
	})
}

// contains reports whether a CIDR contains an address. It is false for a CIDR that cannot be parsed, which the API
// server rejects.
func contains(cidr string, ip netip.Addr) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Contains(ip)
}
