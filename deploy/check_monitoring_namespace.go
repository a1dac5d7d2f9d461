package deploy

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// monitoringNamespace checks that NetworkPolicies that restrict access to the ops port allow the namespaces that
// scrape it. These are the namespaces of each Prometheus and PrometheusAgent of the Prometheus operator that uses a
// monitor of Evergate. For a monitor in another namespace that no Prometheus in the input uses, it is the namespace
// of the monitor, because a Prometheus is usually next to its monitors. The check does not know scrape annotations or
// a scrape configuration.
func monitoringNamespace() check {
	return check{
		id: "monitoring-namespace", severity: Warning, needs: []premise{coherent(), selected(), wired()},
		finds: "a Prometheus, a PodMonitor or a ServiceMonitor in a namespace that NetworkPolicies do not allow to reach " +
			"the metrics port (the ops port)",
		why: "Prometheus cannot scrape Evergate, so the only alert that fires is EvergateNotReady, although the " +
			"cause is the network and not Evergate",
		fix: "set monitoringNamespace in base/settings.yaml to the namespace of the Prometheus",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			for _, m := range c.monitors(s) {
				c.checkMonitor(s, m, r)
			}
		}),
	}
}

func (c *cluster) checkMonitor(s *server, m *unstructured.Unstructured, r *reporter) {
	const sentence = "no NetworkPolicy lets the namespace %s reach port %d of %s"
	ops, ok := s.listener("ops-listen")
	if !ok {
		return
	}
	port, taken := ops.port, false
	for _, p := range slices.Concat(c.prometheuses, c.prometheusAgents) {
		if !c.takesUp(p, m) {
			continue
		}
		taken = true
		if !c.reachableFrom(s, p.GetNamespace(), port) {
			r.warning(c.ref(p), "it scrapes by %s, and "+sentence, c.ref(m), p.GetNamespace(), port, s.ref)
		}
	}
	if !taken && m.GetNamespace() != s.Namespace && !c.reachableFrom(s, m.GetNamespace(), port) {
		r.warning(c.ref(m), sentence, m.GetNamespace(), port, s.ref)
	}
}

// reachableFrom reports whether NetworkPolicies allow, or may allow, Pods in a namespace to reach a port of a server's
// Pods.
func (c *cluster) reachableFrom(s *server, namespace string, port int32) bool {
	policies := c.restricting(s, networkingv1.PolicyTypeIngress)
	admits := func(p *networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
			return c.holdsNamespace(rule.From, s.Namespace, namespace) && holdsPort(rule.Ports, port, s.namedPort)
		})
	}
	return len(policies) == 0 || slices.ContainsFunc(policies, admits)
}
