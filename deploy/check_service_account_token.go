package deploy

// accountToken checks that the token of the ServiceAccount is not mounted into the serving process.
func accountToken() check {
	return check{
		id: "service-account-token", severity: Warning,
		finds: "a ServiceAccount token in the Pods that run evergate serve",
		why:   "the Pods never call the API server, so the token is useful only to an attacker",
		fix:   "set automountServiceAccountToken: false in the Pod template",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			if mount := s.pod.AutomountServiceAccountToken; mount == nil || *mount {
				r.warning(s.ref, "automountServiceAccountToken is not false in its Pod template")
			}
		}),
	}
}
