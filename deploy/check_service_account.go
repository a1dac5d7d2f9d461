package deploy

import (
	"cmp"
	"slices"
)

// defaultAccount is the ServiceAccount that the control plane creates in every namespace.
const defaultAccount = "default"

// serviceAccount checks that the ServiceAccount of the Pods exists. It runs only if the input has ServiceAccounts of
// their namespace, because some inputs do not list them.
func serviceAccount() check {
	return check{
		id: "service-account", severity: Error, modelled: true,
		finds: "a serviceAccountName that does not match any ServiceAccount in the namespace",
		why: "the API server rejects every Pod (error looking up service account). The Deployment exists but " +
			"does not get any replicas, and only the events of its ReplicaSet show the reason",
		fix: "add the ServiceAccount, or set spec.template.spec.serviceAccountName of the Deployment to an " +
			"existing ServiceAccount",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			name, known := s.account(), c.accountsIn(s.Namespace)
			if len(known) > 0 && name != defaultAccount && !slices.Contains(known, name) {
				r.error(s.ref, "its serviceAccountName is %s, which does not exist in %s; the input has: %s", name,
					s.Namespace, some(known))
			}
		}),
	}
}

// account returns the name of the ServiceAccount of the Pods.
func (s *server) account() string { return cmp.Or(s.pod.ServiceAccountName, defaultAccount) }

// accountsIn lists the ServiceAccounts of a namespace in the input.
func (c *cluster) accountsIn(namespace string) []string {
	var names []string
	for _, a := range c.serviceAccounts {
		if a.Namespace == namespace {
			names = append(names, a.Name)
		}
	}
	return names
}
