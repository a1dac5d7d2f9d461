package policy

// tlsRules is the field tls of an ingresses entry.
type tlsRules struct {
	// Required: true means that an Ingress must have spec.tls.
	Required bool `yaml:"required"`
	// CoversHosts: true means that spec.tls must name each host of an Ingress, or the wildcard one label above it.
	CoversHosts bool `yaml:"coversHosts"`
	// AllowHTTP: deny means that plain HTTP must be switched off by the annotation kubernetes.io/ingress.allow-http:
	// "false". It is a convention of some controllers, GKE's among them; others do not know it.
	AllowHTTP denial `yaml:"allowHTTP"`
}

// Validate implements strict.Validator.
func (t *tlsRules) Validate() error {
	if len(t.checks()) == 0 {
		return errNoCheck("required, coversHosts or allowHTTP")
	}
	return nil
}

func (t *tlsRules) checks() []check[Ingress] {
	if t == nil {
		return nil
	}
	var checks []check[Ingress]
	if t.Required {
		checks = append(checks, tlsRequired{})
	}
	if t.CoversHosts {
		checks = append(checks, tlsCoversHosts{})
	}
	if t.AllowHTTP {
		checks = append(checks, tlsAllowHTTP{})
	}
	return checks
}
