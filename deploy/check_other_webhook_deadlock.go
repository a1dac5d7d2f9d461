package deploy

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// otherDeadlock checks that no webhook of another product fails closed on the creation of the Pods that answer it, or
// of the Pods of Evergate if a webhook of Evergate fails closed on its Pods in turn. Its Pods have the
// labels in the Deployment that its Service selects. If the inventory does not have the Deployment, they have the
// labels in the selector.
func otherDeadlock() check {
	return check{
		id: "other-webhook-deadlock", severity: Warning,
		finds: "a webhook of another product that fails closed and matches its own Pods, or matches the Pods of Evergate " +
			"while Evergate fails closed on its Pods",
		why: "when all Pods of the webhook are gone, the API server cannot create a new Pod, because it has to call the " +
			"webhook first. The API server also rejects all other requests that the webhook matches",
		fix: "exclude its namespace by kubernetes.io/metadata.name in its namespaceSelector, or its Pods by its " +
			"objectSelector. If it matches the Pods of Evergate, exclude the namespace of Evergate",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.all {
				if h.ours || h.ClientConfig.Service == nil {
					continue
				}
				namespace := h.ClientConfig.Service.Namespace
				if c.blocks(h, h) {
					r.warning(h.ref, "it fails closed on Pods in its namespace %s%s", namespace, unlessConditions(h))
				} else if ours := c.blockedWith(h); ours != nil {
					r.warning(h.ref, "it fails closed on the Pods of Evergate, whose webhook %s fails closed on Pods in the "+
						"namespace %s, so neither of them can start without the other%s", ours.Name, namespace, unlessConditions(h))
				}
			}
		},
	}
}

// blocks reports whether a webhook fails closed on the creation of the Pods behind the Service of other, which may be
// the same webhook.
func (c *cluster) blocks(h, other *hook) bool {
	svc := other.ClientConfig.Service
	return svc != nil && h.closed() && h.covers("pods", admissionv1.Create) &&
		selects(h.NamespaceSelector, c.namespaceLabels(svc.Namespace)) && selects(h.ObjectSelector, c.podLabels(other))
}

// blockedWith returns the first webhook of Evergate that blocks the Pods of h while h blocks the Pods of Evergate, or
// nil.
func (c *cluster) blockedWith(h *hook) *hook {
	i := slices.IndexFunc(c.hooks, func(ours *hook) bool { return c.blocks(h, ours) && c.blocks(ours, h) })
	if i < 0 {
		return nil
	}
	return c.hooks[i]
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
