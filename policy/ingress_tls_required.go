package policy

// tlsRequired is tls.required: it finds an Ingress without spec.tls.
type tlsRequired struct{}

func (tlsRequired) find(ing *Ingress, r *report) {
	if len(ing.TLS) == 0 {
		r.add(identity{check: "tls.required"}, "spec.tls", "is not set, so that plain HTTP is served; set it")
	}
}
