package deploy

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// serviceTarget checks that the Service that webhooks call leads to Pods whose Deployment runs evergate
// serve, on the port of --listen.
func serviceTarget() check {
	return check{
		id: "service-target", severity: Error, needs: []premise{coherent(), agreed()},
		finds: "a Service that does not route to an Evergate Pod, or that routes to a port that Evergate does not " +
			"serve",
		why: "every call fails, although the Deployment looks healthy",
		fix: "let the Service select the labels of the Pod template, and set its targetPort to the port of " +
			"--listen",
		run: func(c *cluster, r *reporter) {
			seen := map[*corev1.Service]bool{nil: true} // nil: see the check service
			for _, h := range c.hooks {
				if svc := c.service(h); !seen[svc] {
					seen[svc] = true
					c.checkTarget(svc, h.servicePort(), r)
				}
			}
		},
	}
}

func (c *cluster) checkTarget(svc *corev1.Service, port int32, r *reporter) {
	behind := c.behindService(svc)
	if len(behind) == 0 && len(c.servers) > 0 { // see the check deployment
		s := c.servers[0]
		r.error(c.ref(svc), "it selects %s, and the Pods of %s, which runs evergate serve, have the labels %s",
			labels.Set(svc.Spec.Selector), s.ref, labels.Set(s.templateLabels()))
	}
	for _, s := range behind {
		l, ok := s.listener("listen")
		target, has := s.target(svc, port)
		if ok && has && target != l.port {
			r.error(c.ref(svc), "its port %d leads to port %d of %s, which listens on %d", port, target, s.ref, l.port)
		}
	}
}

// behindService returns the Deployments whose Pods a Service selects.
func (c *cluster) behindService(svc *corev1.Service) []*server {
	return filter(c.servers, func(s *server) bool {
		return s.Namespace == svc.Namespace && containsAll(s.templateLabels(), svc.Spec.Selector)
	})
}

// target returns the port of the container that a port of a Service leads to, or 0 if the container does not have
// this port. ok is false if the Service does not have the port.
func (s *server) target(svc *corev1.Service, port int32) (target int32, ok bool) {
	i := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
	if i < 0 {
		return 0, false // service
	}
	return s.port(cmp.Or(svc.Spec.Ports[i].TargetPort, intstr.FromInt32(port))), true
}
