package deploy

import "slices"

// certificateNames: the serving Certificate covers the DNS name that the API server asks for,
// <Service>.<namespace>.svc, and the process checks the same name.
func certificateNames() check {
	return check{
		id: "certificate-names", severity: Error,
		finds: "a Certificate, or --service-name, that does not have the name that the API server asks for",
		why: "every handshake fails: failing closed, everything matched is refused; failing open, nothing is " +
			"checked",
		fix: "let dnsNames contain, and --service-name be, SERVICE.NAMESPACE.svc",
		run: func(c *cluster, r *reporter) {
			for crt := range c.servingCertificates {
				for _, name := range c.serviceNames() {
					if !slices.Contains(crt.Spec.DNSNames, name) {
						r.error(c.ref(crt), "its dnsNames lack %s, which the API server asks for", name)
					}
				}
			}
			for _, s := range c.servers {
				name := s.settings.ServiceName
				names := c.serviceNames()
				if len(names) > 0 && name != "" && s.settings.Known("service-name") && !slices.Contains(names, name) {
					r.error(s.process, "--service-name=%s is not what the API server asks for, which is %s", name,
						oneOf(names))
				}
			}
		},
	}
}
