package deploy

// noNamespaceSelector checks that each Evergate webhook except the policy guard has a namespaceSelector with at least
// one requirement.
func noNamespaceSelector() check {
	return check{
		id: "no-namespace-selector", severity: Error,
		finds: "an Evergate webhook without a namespaceSelector",
		why: "the webhook matches every namespace, including kube-system, kube-node-lease, cert-manager's namespace " +
			"and its own, so it can block the Pods that would answer it",
		fix: "select namespaces by the label " + optInLabel + "=" + optInEnabled + ", and exclude the system namespaces " +
			"with kubernetes.io/metadata.name NotIn",
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			if anything(h.NamespaceSelector) && !h.guardsPolicy() {
				r.error(h.ref, "it has no namespaceSelector")
			}
		}),
	}
}
