package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// serviceMissing: the Service that a webhook calls exists, is not headless, and has the port that is called.
func serviceMissing() check {
	return check{
		id: "service", severity: Error,
		finds: "a webhook whose Service does not exist, is headless, or lacks the port",
		why: "every call fails, of headless Services too, which the API server refuses to call: failing closed, everything that the " +
			"webhook matches is refused; failing open, nothing is checked",
		mend: "let clientConfig.service name a Service of type ClusterIP and one of its ports",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if h.ClientConfig.Service == nil {
					continue // path
				}
				svc, port := c.service(h), h.servicePort()
				switch {
				case svc == nil:
					r.error(h.ref, "the Service %s/%s does not exist", h.ClientConfig.Service.Namespace, h.ClientConfig.Service.Name)
				case svc.Spec.ClusterIP == corev1.ClusterIPNone:
					r.error(h.ref, "%s is headless", c.ref(svc))
				case !slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port }):
					r.error(h.ref, "%s has no port %d", c.ref(svc), port)
				}
			}
		},
	}
}
