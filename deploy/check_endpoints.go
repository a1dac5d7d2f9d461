package deploy

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// endpoints checks that the Service that webhooks call has as many ready endpoints as there should be replicas.
func endpoints() check {
	return check{
		id: "endpoints", severity: Error, live: true, needs: []premise{coherent(), selected(), agreed()},
		finds: "an Evergate Service without ready endpoints, or with fewer ready endpoints than replicas",
		why: "without a ready endpoint, every call fails. With fewer ready endpoints than replicas, the next " +
			"disruption may remove the last one",
		fix: "find out why replicas are not ready: run kubectl describe pods, and read the last line of their logs",
		run: func(c *cluster, r *reporter) {
			seen := map[*corev1.Service]bool{}
			for _, h := range c.hooks {
				svc := c.service(h)
				if svc == nil || !live(svc) || seen[svc] {
					continue
				}
				seen[svc] = true
				switch ready, want := c.readyEndpoints(svc), c.wanted(svc); {
				case ready == 0:
					r.error(c.ref(svc), "none of its endpoints is ready")
				case ready < want:
					r.warning(c.ref(svc), "%d of %d endpoints are ready", ready, want)
				}
			}
		},
	}
}

// readyEndpoints counts the ready endpoints of a Service. Endpoints of one Pod in two address families count once.
func (c *cluster) readyEndpoints(svc *corev1.Service) int {
	pods := map[string]bool{}
	for _, slice := range c.endpointSlices {
		if slice.Namespace != svc.Namespace || slice.Labels[discoveryv1.LabelServiceName] != svc.Name {
			continue
		}
		for _, e := range slice.Endpoints {
			if ready := e.Conditions.Ready; ready != nil && !*ready { // nil means ready
				continue
			}
			name := strings.Join(e.Addresses, ",")
			if e.TargetRef != nil {
				name = e.TargetRef.Name
			}
			pods[name] = true
		}
	}
	return len(pods)
}

// wanted returns how many replicas should be behind a Service.
func (c *cluster) wanted(svc *corev1.Service) int {
	n := 0
	for _, s := range c.servers {
		if containsAll(s.templateLabels(), svc.Spec.Selector) {
			n += s.replicas()
		}
	}
	return n
}
