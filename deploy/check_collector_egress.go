package deploy

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// collectorEgress: where NetworkPolicies restrict what Evergate's Pods reach, they let them reach the collector that
// OTEL_EXPORTER_OTLP_ENDPOINT names, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.
func collectorEgress() check {
	return check{
		id: "collector-egress", severity: Warning,
		finds: "a collector of traces that NetworkPolicies keep out of Evergate's reach",
		why:   "every trace is lost after its timeout, with nothing but a line in the log",
		fix: "use the component collector of the kit, whose setting is the endpoint and whose NetworkPolicy follows " +
			"it, or add a NetworkPolicy that allows the way",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				endpoint, ok := newEndpoint(s)
				policies := c.restricting(s, networkingv1.PolicyTypeEgress)
				if !ok || len(policies) == 0 {
					continue
				}
				lets := func(p *networkingv1.NetworkPolicy) bool {
					return slices.ContainsFunc(p.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
						return c.leadsTo(rule, s, endpoint)
					})
				}
				if !slices.ContainsFunc(policies, lets) {
					r.warning(s.process, "no NetworkPolicy lets it reach its collector, %s", printable(endpoint.url))
				}
			}
		},
	}
}

// endpoint is where traces are sent to.
type endpoint struct {
	url       string
	port      int32
	service   string
	namespace string // of the Service; empty: it is none, by its name
}

// newEndpoint returns the endpoint that a container is configured with; ok is false where there is none that a
// NetworkPolicy is about.
func newEndpoint(s *server) (e endpoint, ok bool) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		i := slices.IndexFunc(s.container.Env, func(v corev1.EnvVar) bool { return v.Name == name && v.Value != "" })
		if i >= 0 {
			e.url = s.container.Env[i].Value
			break
		}
	}
	u, err := url.Parse(e.url)
	if err != nil || u.Hostname() == "" {
		return e, false
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		port = map[string]uint64{"https": 443}[u.Scheme]
	}
	if port == 0 {
		port = 80
	}
	e.port = int32(port)
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return e, !ip.IsLoopback()
	}
	switch parts := strings.Split(strings.TrimSuffix(u.Hostname(), "."), "."); {
	case u.Hostname() == "localhost":
		return e, false
	case len(parts) == 1:
		e.service, e.namespace = parts[0], s.Namespace
	case len(parts) == 2 || parts[2] == "svc":
		e.service, e.namespace = parts[0], parts[1]
	}
	return e, true
}

// leadsTo reports whether a rule lets the endpoint be reached, or may do so. NetworkPolicies are about the ports of
// Pods: that of the endpoint is the Service's, which most often is the same.
func (c *cluster) leadsTo(rule networkingv1.NetworkPolicyEgressRule, s *server, e endpoint) bool {
	port := e.port
	if svc := find(c.services, e.namespace, e.service); svc != nil {
		for _, p := range svc.Spec.Ports {
			if p.Port == e.port && p.TargetPort.IntVal != 0 {
				port = p.TargetPort.IntVal
			}
		}
	}
	unknown := func(string) int32 { return port } // names are those of the collector's Pods
	if !holdsPort(rule.Ports, port, unknown) {
		return false
	}
	if e.namespace == "" {
		return holdsAddresses(rule.To)
	}
	return c.holdsNamespace(rule.To, s.Namespace, e.namespace)
}
