package deploy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// listenPort checks that --listen is on the port that the Service and the readiness probe lead to. If these two
// agree, the container is wrong. If they do not agree, the checks service-target and readiness report which of them
// is wrong.
func listenPort() check {
	return check{
		id: "listen-port", severity: Error, needs: []premise{coherent(), selected()},
		finds: "a port in --listen that differs from the port of the Service and the readiness probe",
		why: "every call fails and no replica becomes ready, because nothing listens on the port that the Service " +
			"and the probe use",
		fix: "use one port for --listen and for the containerPort of the Service, the probe and the " +
			"NetworkPolicy (https in kustomize/base)",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			if port := c.listenElsewhere(s); port != nil {
				r.error(s.process, "--listen is on port %d, and %s and its readinessProbe lead to %s",
					s.listens("listen"), c.ref(port.service), s.portName(port.target))
			}
		}),
	}
}

// agreedPort is the port that a Service and a readiness probe lead to.
type agreedPort struct {
	service *corev1.Service
	target  intstr.IntOrString
}

// listenElsewhere returns the port that a Service and the readiness probe of a server agree on and that the server
// does not listen on, or nil.
func (c *cluster) listenElsewhere(s *server) *agreedPort {
	probe, listens := s.container.ReadinessProbe, s.listens("listen")
	if probe == nil || probe.HTTPGet == nil || listens == 0 {
		return nil
	}
	for _, h := range c.hooks {
		svc := c.service(h)
		if svc == nil || len(c.behindService(svc)) == 0 {
			continue
		}
		for _, p := range svc.Spec.Ports {
			target := p.TargetPort
			same := target == probe.HTTPGet.Port || s.port(target) != 0 && s.port(target) == s.port(probe.HTTPGet.Port)
			if p.Port == h.servicePort() && same && s.port(target) != listens {
				return &agreedPort{svc, target}
			}
		}
	}
	return nil
}

// portName formats a port of the container with its number and its name.
func (s *server) portName(p intstr.IntOrString) string {
	switch {
	case p.Type == intstr.Int:
		return fmt.Sprintf("port %d", p.IntVal)
	case s.port(p) == 0:
		return fmt.Sprintf("a port called %s, which the container does not have", p.StrVal)
	}
	return fmt.Sprintf("port %d, which is called %s", s.port(p), p.StrVal)
}
