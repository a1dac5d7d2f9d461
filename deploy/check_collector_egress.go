package deploy

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// collectorEgress checks that NetworkPolicies that restrict the egress of Evergate's Pods allow the trace collector,
// on the port of its Pods, and DNS lookups of its name. The check serve-flags reports endpoints that are not URLs.
func collectorEgress() check {
	return check{
		id: "collector-egress", severity: Warning, needs: []premise{coherent(), selected(), wired()},
		finds: "a trace collector that Evergate cannot reach, or whose name it cannot look up, because of " +
			"NetworkPolicies",
		why: "every trace is dropped after a timeout, and only the log shows this",
		fix: "use the component collector, whose NetworkPolicy allows the endpoint in the setting collector, or add " +
			"a NetworkPolicy that allows the collector and DNS",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			if e, ok := newEndpoint(s); ok {
				c.checkEgress(s, e, r)
			}
		}),
	}
}

func (c *cluster) checkEgress(s *server, e *endpoint, r *reporter) {
	policies := c.restricting(s, networkingv1.PolicyTypeEgress)
	allow := func(allows func(networkingv1.NetworkPolicyEgressRule) bool) bool {
		return len(policies) == 0 || slices.ContainsFunc(policies, func(p *networkingv1.NetworkPolicy) bool {
			return slices.ContainsFunc(p.Spec.Egress, allows)
		})
	}
	b := c.behind(e)
	switch {
	case !allow(func(rule networkingv1.NetworkPolicyEgressRule) bool { return c.leadsTo(rule, s, e, b) }):
		r.warning(s.process, "no NetworkPolicy lets it reach its collector, %s: egress to %s is missing in %s", e.url,
			e.place(b), namesOf(policies))
	case e.name != "" && !allow(allowsDNS):
		r.warning(s.process, "no NetworkPolicy lets it look up %s, the name of its collector: egress to port 53 by UDP and "+
			"TCP is missing in %s", e.name, namesOf(policies))
	}
}

// namesOf lists NetworkPolicies by their names.
func namesOf(policies []*networkingv1.NetworkPolicy) string {
	var names []string
	for _, p := range policies {
		names = append(names, p.Name)
	}
	return some(names)
}

// place returns the destination that a rule has to allow.
func (e *endpoint) place(b backend) string {
	switch {
	case !e.ip.IsValid() && e.namespace == "":
		return fmt.Sprintf("an ipBlock on port %d", b.port)
	case e.ip.IsValid():
		return fmt.Sprintf("an ipBlock with %s on port %d", e.ip, b.port)
	}
	if b.labels != nil {
		return fmt.Sprintf("Pods with %s in the namespace %s on port %d", labels.Set(b.labels), e.namespace, b.port)
	}
	return fmt.Sprintf("Pods in the namespace %s on port %d", e.namespace, b.port)
}

// leadsTo reports whether a rule allows the endpoint, or may allow it. NetworkPolicies are about the ports of Pods,
// not of Services.
func (c *cluster) leadsTo(rule networkingv1.NetworkPolicyEgressRule, s *server, e *endpoint, b backend) bool {
	if !holdsPort(rule.Ports, b.port, b.named) {
		return false
	}
	if e.namespace == "" {
		return holdsAddress(rule.To, e.ip)
	}
	return len(rule.To) == 0 || slices.ContainsFunc(rule.To, func(p networkingv1.NetworkPolicyPeer) bool {
		return c.holdsNamespace([]networkingv1.NetworkPolicyPeer{p}, s.Namespace, e.namespace) &&
			(p.PodSelector == nil || b.labels == nil || selects(p.PodSelector, b.labels))
	})
}

// allowsDNS reports whether a rule allows DNS lookups: UDP to port 53 of Pods in other namespaces, of addresses, or
// of anything.
func allowsDNS(rule networkingv1.NetworkPolicyEgressRule) bool {
	const dns = 53
	return holdsUDPPort(rule.Ports, dns) && (len(rule.To) == 0 ||
		slices.ContainsFunc(rule.To, func(p networkingv1.NetworkPolicyPeer) bool {
			return p.IPBlock != nil || p.NamespaceSelector != nil
		}))
}
