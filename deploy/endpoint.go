package deploy

import (
	"cmp"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evergate/evergate/lifecycle/settings"
)

// endpoint is the destination of traces.
type endpoint struct {
	url       string // without a password
	port      int32
	name      string     // to look up; "" for an address
	ip        netip.Addr // invalid for a name
	service   string
	namespace string // of the Service; "" if the host is not the name of a Service
}

// newEndpoint returns the endpoint in the settings of a container. ok is false if the settings do not have an endpoint
// that a NetworkPolicy could block.
func newEndpoint(s *server) (e *endpoint, ok bool) {
	off := s.variable("OTEL_TRACES_EXPORTER") == "none" || strings.EqualFold(s.variable("OTEL_SDK_DISABLED"), "true") ||
		s.variable("OTEL_TRACES_SAMPLER") == "always_off" // as in the package telemetry
	value := cmp.Or(s.variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), s.variable("OTEL_EXPORTER_OTLP_ENDPOINT"))
	u, err := url.Parse(value)
	if off || err != nil || u.Hostname() == "" || u.Hostname() == "localhost" {
		return nil, false
	}
	e = &endpoint{url: u.Redacted(), port: 80}
	if u.Scheme == "https" {
		e.port = 443
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		e.port = int32(port)
	}
	if e.ip, err = netip.ParseAddr(u.Hostname()); err == nil {
		return e, !e.ip.IsLoopback()
	}
	e.setName(u.Hostname(), s.Namespace)
	return e, true
}

// setName sets the name of the host. If the host is the name of a Service, it also sets the Service and its
// namespace. A name without a namespace is looked up in the namespace own.
func (e *endpoint) setName(host, own string) {
	e.name = host
	switch parts := strings.Split(strings.TrimSuffix(host, "."), "."); {
	case len(parts) == 1:
		e.service, e.namespace = parts[0], own
	case len(parts) == 2 || parts[2] == "svc":
		e.service, e.namespace = parts[0], parts[1]
	}
}

// variable returns the value of a variable of the container, or "" if it is not set or its value is not in the input.
func (s *server) variable(name string) string {
	value := s.env.value(name, "")
	if strings.Contains(value, settings.Unknown) {
		return ""
	}
	return strings.TrimSpace(value)
}

// backend has the known facts about the Pods behind an endpoint.
type backend struct {
	port   int32
	labels map[string]string       // nil if they are not known
	named  func(name string) int32 // resolves a port name in a NetworkPolicy
}

// behind returns the facts in the input about the Pods behind an endpoint. Without a Service, the port of the Pods is
// assumed to be the port of the endpoint. Without a Deployment, each named port is assumed to be that port.
func (c *cluster) behind(e *endpoint) backend {
	b := backend{port: e.port}
	b.named = func(string) int32 { return b.port }
	svc := find(c.services, e.namespace, e.service)
	if svc == nil {
		return b
	}
	target := intstr.FromInt32(e.port)
	for _, p := range svc.Spec.Ports {
		if p.Port == e.port {
			target = cmp.Or(p.TargetPort, target)
		}
	}
	b.port = cmp.Or(target.IntVal, e.port)
	for _, d := range c.deployments {
		if d.Namespace != e.namespace || !containsAll(d.Spec.Template.Labels, svc.Spec.Selector) {
			continue
		}
		b.labels = d.Spec.Template.Labels
		b.named = func(name string) int32 { return containerPort(d.Spec.Template.Spec.Containers, name) }
		if target.StrVal != "" {
			b.port = cmp.Or(b.named(target.StrVal), e.port)
		}
	}
	return b
}

// containerPort returns the port with a name in one of the containers, or 0 if they do not have it.
func containerPort(containers []corev1.Container, name string) int32 {
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.Name == name {
				return p.ContainerPort
			}
		}
	}
	return 0
}
