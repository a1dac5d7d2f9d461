package deploy

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// rbac checks that no role is bound to the ServiceAccount of the serving process, which never calls the API server.
// Other ServiceAccounts in Evergate's namespace may only read, and may not read Secrets. They do not have the right
// to opt in.
func rbac() check {
	return check{
		id: "rbac", severity: Error,
		finds: "permissions that Evergate does not need",
		why: "admission webhooks are attractive targets. An attacker in a Pod of Evergate has the permissions of its " +
			"ServiceAccount, and can change every object that the webhook receives",
		fix: "remove the binding. Allow Evergate's Jobs only get, list and watch, and do not let them read Secrets",
		run: func(c *cluster, r *reporter) {
			for binding := range c.bindings {
				for _, account := range c.ourAccounts(binding) {
					switch excess := excessOf(binding.rules); {
					case c.serves(account):
						r.error(binding.ref, "it binds %s to the ServiceAccount %s, which serves and does not need permissions",
							binding.role, account)
					case binding.rules == nil:
						r.error(binding.ref,
							"it binds %s to the ServiceAccount %s, and the input does not show its permissions", binding.role, account)
					case excess != "":
						r.error(binding.ref, "it binds %s to the ServiceAccount %s, which lets it %s", binding.role,
							account, excess)
					}
				}
			}
		},
	}
}

// binding is a RoleBinding or a ClusterRoleBinding.
type binding struct {
	ref       ref
	namespace string
	role      string // kind and name
	subjects  []rbacv1.Subject
	rules     []rbacv1.PolicyRule // nil if the role is not in the inventory
}

func (c *cluster) bindings(yield func(binding) bool) {
	for _, b := range c.roleBindings {
		if !yield(c.binding(c.ref(b), b.Namespace, b.RoleRef, b.Subjects)) {
			return
		}
	}
	for _, b := range c.clusterRoleBindings {
		if !yield(c.binding(c.ref(b), "", b.RoleRef, b.Subjects)) {
			return
		}
	}
}

func (c *cluster) binding(at ref, namespace string, role rbacv1.RoleRef, subjects []rbacv1.Subject) binding {
	b := binding{at, namespace, role.Kind + " " + role.Name, subjects, nil}
	if role.Kind == "Role" {
		if found := find(c.roles, namespace, role.Name); found != nil {
			b.rules = append([]rbacv1.PolicyRule{}, found.Rules...)
		}
	} else if found := find(c.clusterRoles, "", role.Name); found != nil {
		b.rules = append([]rbacv1.PolicyRule{}, found.Rules...)
	}
	return b
}

// ourAccounts lists the ServiceAccounts in Evergate's namespace that are subjects of a binding.
func (c *cluster) ourAccounts(b binding) []string {
	var names []string
	for _, s := range b.subjects {
		namespace := s.Namespace
		if namespace == "" {
			namespace = b.namespace
		}
		if s.Kind == rbacv1.ServiceAccountKind && namespace == c.namespace {
			names = append(names, s.Name)
		}
	}
	return names
}

// serves reports whether a Deployment that runs evergate serve uses a ServiceAccount.
func (c *cluster) serves(account string) bool {
	return slices.ContainsFunc(c.servers, func(s *server) bool {
		return s.account() == account
	})
}

// excessOf returns a permission beyond reading that rules grant, or "" if they only grant reading.
func excessOf(rules []rbacv1.PolicyRule) string {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			if verb != "get" && verb != "list" && verb != "watch" {
				return verb + " " + some(rule.Resources)
			}
		}
		for _, resource := range rule.Resources {
			if resource == "secrets" || resource == "*" {
				return "read " + resource
			}
		}
	}
	return ""
}
