package policy

// defaultBackendDenied is defaultBackend: it finds an Ingress with spec.defaultBackend, which gets what no rule of any
// Ingress of its controller asks for: other teams' mistyped hosts and paths.
type defaultBackendDenied struct{}

func (defaultBackendDenied) find(ing *Ingress, r *report) {
	if ing.DefaultBackend {
		r.add(identity{check: "defaultBackend"}, "spec.defaultBackend",
			"gets every request that no rule takes, and is denied; name hosts in spec.rules instead")
	}
}
