package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// enforceMountableSecrets is the annotation that makes the API server's ServiceAccount plugin reject Pods with
// secrets that the ServiceAccount does not list (plugin/pkg/admission/serviceaccount/admission.go).
const enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

// mountableSecrets checks that a ServiceAccount that enforces mountable secrets lists the pull secrets that mirrors
// add to Pods. It runs if a webhook or a native policy that rewrites Pods selects the namespace of the ServiceAccount.
func mountableSecrets() check {
	return check{
		id: "mountable-secrets", severity: Error,
		finds: "a ServiceAccount with " + enforceMountableSecrets + ": \"true\", in an opted-in namespace, that does not " +
			"list the imagePullSecret of a mirrors entry in mode enforce",
		why: "the API server validates Pods after webhooks and native policies have patched them. It rejects each " +
			"rewritten Pod of this ServiceAccount, because the Pod references a pull secret that the account does not list",
		fix: "add the name to imagePullSecrets of the ServiceAccount, or exclude the namespace from the mirrors " +
			"entry",
		run: func(c *cluster, r *reporter) {
			p, ok := c.policy()
			if !ok {
				return
			}
			for _, a := range c.serviceAccounts {
				if a.Annotations[enforceMountableSecrets] != "true" || !c.rewrites(a.Namespace) {
					continue
				}
				for _, name := range p.PullSecrets(a.Namespace) {
					if !slices.Contains(a.ImagePullSecrets, corev1.LocalObjectReference{Name: name}) {
						r.error(c.ref(a), "it enforces mountable secrets, and its imagePullSecrets do not have %s, which mirrors "+
							"add", name)
					}
				}
			}
		},
	}
}
