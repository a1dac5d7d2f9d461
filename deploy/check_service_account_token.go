package deploy

// accountToken: the token of the ServiceAccount is not mounted into the serving process.
func accountToken() check {
	return check{
		id: "service-account-token", severity: Warning,
		finds: "a ServiceAccount token in the Pods that serve",
		why:   "they ask the API server nothing: the token is of use to an intruder only",
		fix:   "set automountServiceAccountToken: false in the Pod template",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				if mount := s.pod.AutomountServiceAccountToken; mount == nil || *mount {
					r.warning(s.ref, "automountServiceAccountToken is not false in its Pod template")
				}
			}
		},
	}
}
