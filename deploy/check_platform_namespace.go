package deploy

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// runLevel is the label with which OpenShift marks the namespaces that a cluster starts with. Namespaces with level 0
// or 1 start before the API server that serves the OpenShift kinds.
const runLevel = "openshift.io/run-level"

// platformNamespace checks that no Evergate webhook that fails closed matches a namespace of the platform. It skips
// the namespaces of the check protected-namespace.
func platformNamespace() check {
	return check{
		id: "platform-namespace", severity: Error, live: true,
		finds: "an Evergate webhook that fails closed and matches an OpenShift namespace with run level 0 or 1. A match " +
			"on a namespace of another distribution, cloud provider, network plugin or storage system is a warning. " +
			"Preflight recognizes these namespaces by name, for example openshift-etcd, cattle-system, gke-managed-system " +
			"and calico-system",
		why: "while no replica answers, the operators of the platform cannot replace the Pods of the network, the " +
			"storage and the control plane, and cannot upgrade the cluster. A replica may need one of these Pods to " +
			"start",
		fix: "exempt these namespaces. If your namespaces opt out, add the label " + optInLabel + "=" + optInDisabled +
			". If they opt in, remove the label. To exempt them by name, use the components openshift and " +
			"match-all-namespaces or base/exempt-namespaces.yaml",
		run: eachHook(func(c *cluster, h *hook, r *reporter) {
			if !h.closed() || h.guardsPolicy() || anything(h.NamespaceSelector) { // see the check no-namespace-selector
				return
			}
			early, others := c.platformNamespaces(h)
			if len(early) > 0 {
				r.error(h.ref, "it fails closed and matches namespaces with run level 0 or 1 of OpenShift: %s", some(early))
			}
			if len(others) > 0 {
				r.warning(h.ref, "it fails closed and matches namespaces of the platform: %s", some(others))
			}
		}),
	}
}

// platformNamespaces lists the namespaces of the platform that a webhook matches. Namespaces with OpenShift run level
// 0 or 1 are in early, all others in others.
func (c *cluster) platformNamespaces(h *hook) (early, others []string) {
	protected := c.protected()
	for _, ns := range c.namespaces {
		level := ns.Labels[runLevel]
		switch {
		case slices.Contains(protected, ns.Name) || !selects(h.NamespaceSelector, c.namespaceLabels(ns.Name)):
		case level == "0" || level == "1":
			early = append(early, ns.Name)
		case ofPlatform(ns):
			others = append(others, ns.Name)
		}
	}
	return early, others
}

// ofPlatform reports whether a platform reserves the name of a namespace.
func ofPlatform(ns *corev1.Namespace) bool {
	reserved := slices.ContainsFunc([]string{
		"kube-",      // Kubernetes, also kube-flannel, kube-ovn and kube-vip
		"openshift-", // OpenShift
		"cattle-",    // Rancher, on RKE2 and K3s too
		"gke-", "gmp-",
		"aks-",
		"calico-", "tigera-",
		"vmware-system-",
		"open-cluster-management", // also with -agent and others
	}, func(prefix string) bool { return strings.HasPrefix(ns.Name, prefix) })
	return reserved || slices.Contains([]string{
		"fleet-local", "fleet-system", "rancher-operator-system", // Rancher
		"config-management-system", "resource-group-system", // GKE
		"amazon-cloudwatch", "amazon-guardduty", // EKS
		"app-routing-system", "azure-arc", "gatekeeper-system", // AKS
		"tanzu-system", "tkg-system", "ibm-system", "ibm-operators",
		"hypershift", "multicluster-engine", // OpenShift
		"cilium", "cilium-secrets", "metallb-system", // networks
		"longhorn-system", "openebs", "rook-ceph", // storage
	}, ns.Name)
}
