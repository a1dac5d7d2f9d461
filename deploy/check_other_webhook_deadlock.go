package deploy

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// otherDeadlock checks that no webhook of another product fails closed on the creation of the Pods that answer it.
// These Pods have the labels in the Deployment that its Service selects. If the inventory does not have the Deployment,
// they have the labels in the selector.
func otherDeadlock() check {
	return check{
		id: "other-webhook-deadlock", severity: Warning,
		finds: "a webhook of another product that fails closed and matches its own Pods",
		why: "when all Pods of the webhook are gone, the API server cannot create a new Pod, because it has to call the " +
			"webhook first. The API server also rejects all other requests that the webhook matches",
		fix: "exclude its namespace by kubernetes.io/metadata.name in its namespaceSelector, or its Pods by its " +
			"objectSelector",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.all {
				if !h.ours && h.closed() && h.covers("pods", admissionv1.Create) && c.selectsItself(h) {
					r.warning(h.ref, "it fails closed on Pods in its namespace %s%s",
						h.ClientConfig.Service.Namespace, unlessConditions(h))
				}
			}
		},
	}
}

// selectsItself reports whether the selectors of a webhook select the Pods behind its Service.
func (c *cluster) selectsItself(h *hook) bool {
	svc := h.ClientConfig.Service
	if svc == nil || !selects(h.NamespaceSelector, c.namespaceLabels(svc.Namespace)) {
		return false
	}
	return selects(h.ObjectSelector, c.podLabels(h))
}

// podLabels returns the labels that the Pods behind a webhook have, or nil if they are not known.
func (c *cluster) podLabels(h *hook) map[string]string {
	svc := c.service(h)
	if svc == nil {
		return nil
	}
	for _, d := range c.deployments {
		if template := d.Spec.Template.Labels; d.Namespace == svc.Namespace && containsAll(template, svc.Spec.Selector) {
			return template
		}
	}
	return svc.Spec.Selector
}
