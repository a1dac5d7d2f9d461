package deploy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// serviceMissing checks that the Service that a webhook calls exists, is not headless, and has the port that the
// webhook calls.
func serviceMissing() check {
	return check{
		id: "service", severity: Error, needs: []premise{together()},
		finds: "a webhook whose Service does not exist, is headless or does not have the port",
		why: "every call fails. The API server does not call headless Services either. If the webhook fails " +
			"closed, the API server rejects every matching request. If it fails open, nothing is checked",
		fix: "set clientConfig.service to a Service of type ClusterIP and one of its ports",
		run: func(c *cluster, r *reporter) {
			reported := map[string]bool{} // each problem once for all webhooks
			for _, h := range c.hooks {
				if problem := c.serviceProblem(h); problem != "" && !reported[problem] {
					reported[problem] = true
					r.error(h.ref, "%s", problem)
				}
			}
		},
	}
}

// serviceProblem returns the problem with the Service of a webhook, or "" if the Service is right.
func (c *cluster) serviceProblem(h *hook) string {
	if h.ClientConfig.Service == nil {
		return "" // see the check path
	}
	svc, port := c.service(h), h.servicePort()
	switch {
	case svc == nil:
		return fmt.Sprintf("the Service %s/%s does not exist%s", h.ClientConfig.Service.Namespace,
			h.ClientConfig.Service.Name, c.meantService())
	case svc.Spec.ClusterIP == corev1.ClusterIPNone:
		return c.ref(svc).String() + " is headless"
	case !slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port }):
		return fmt.Sprintf("%s has no port %d", c.ref(svc), port)
	}
	return ""
}

// meantService returns the end of a sentence with a Service that leads to evergate serve, or "" if no Service does.
func (c *cluster) meantService() string {
	for _, svc := range c.services {
		if len(c.behindService(svc)) > 0 {
			return "; evergate serve is behind " + c.ref(svc).String()
		}
	}
	return ""
}
