package deploy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// serviceMissing: the Service that a webhook calls exists, is not headless, and has the port that is called.
func serviceMissing() check {
	return check{
		id: "service", severity: Error, needs: []premise{together()},
		finds: "a webhook whose Service does not exist, is headless, or lacks the port",
		why: "every call fails, of headless Services too, which the API server refuses to call: failing closed, " +
			"everything that the webhook matches is refused; failing open, nothing is checked",
		fix: "let clientConfig.service name a Service of type ClusterIP and one of its ports",
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

// serviceProblem returns what is wrong with the Service of a webhook; "" when it is right.
func (c *cluster) serviceProblem(h *hook) string {
	if h.ClientConfig.Service == nil {
		return "" // path
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

// meantService names, as the end of a sentence, a Service that leads to evergate serve; "" when there is none.
func (c *cluster) meantService() string {
	for _, svc := range c.services {
		if len(c.behindService(svc)) > 0 {
			return "; what leads to evergate serve is " + c.ref(svc).String()
		}
	}
	return ""
}
