package deploy

import (
	"cmp"
	"slices"
)

// defaultAccount is the ServiceAccount that the control plane creates in every namespace.
const defaultAccount = "default"

// serviceAccount: the ServiceAccount of the Pods exists. It is looked at where the input has ServiceAccounts of their
// namespace: an input without any does not list them.
func serviceAccount() check {
	return check{
		id: "service-account", severity: Error, modelled: true,
		finds: "a serviceAccountName that no ServiceAccount of the namespace has",
		why: "the API server refuses every Pod (error looking up service account): there is a Deployment, and no replica, " +
			"which only the events of its ReplicaSet show",
		fix: "add the ServiceAccount, or name one that exists in the Deployment's spec.template.spec.serviceAccountName",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				name, known := s.account(), c.accountsIn(s.Namespace)
				if len(known) > 0 && name != defaultAccount && !slices.Contains(known, name) {
					r.error(s.ref, "its serviceAccountName is %s, which does not exist in %s; the input has there: %s", name,
						s.Namespace, some(known))
				}
			}
		},
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
