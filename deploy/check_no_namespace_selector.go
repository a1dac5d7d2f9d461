package deploy

// noNamespaceSelector: each webhook of Evergate but the guard of the policy has a namespaceSelector with at least one
// requirement.
func noNamespaceSelector() check {
	return check{
		id: "no-namespace-selector", severity: Error,
		finds: "a webhook of Evergate without a namespaceSelector",
		why: "it matches every namespace: the control plane's, the nodes', cert-manager's and its own, so that it " +
			"can lock itself out",
		fix: "select namespaces by the label " + optInLabel + "=" + optInEnabled + ", and exclude the system's by " +
			"kubernetes.io/metadata.name NotIn",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				if anything(h.NamespaceSelector) && !h.guardsPolicy() {
					r.error(h.ref, "it has no namespaceSelector")
				}
			}
		},
	}
}
