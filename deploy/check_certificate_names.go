package deploy

import (
	"slices"
	"strings"
)

// certificateNames checks that the serving Certificate contains the DNS name that the API server requests,
// <Service>.<namespace>.svc, and that the process checks the same name.
func certificateNames() check {
	return check{
		id: "certificate-names", severity: Error,
		finds: "a Certificate or a --service-name without the DNS name that the API server requests",
		why: "every handshake fails. If webhooks fail closed, the API server rejects every matching request. If " +
			"they fail open, nothing is checked",
		fix: "add SERVICE.NAMESPACE.svc to dnsNames, and set --service-name to this name",
		run: func(c *cluster, r *reporter) {
			for crt := range c.servingCertificates {
				for _, name := range c.serviceNames() {
					if !covers(crt.Spec.DNSNames, name) {
						r.error(c.ref(crt), "its dnsNames lack %s, which the API server requests", name)
					}
				}
			}
			for _, s := range c.servers {
				name := s.settings.ServiceName
				names := c.serviceNames()
				if len(names) > 0 && name != "" && s.settings.Known("service-name") && !slices.Contains(names, name) {
					r.error(s.process, "--service-name=%s is not the name that the API server requests, which is %s", name,
						oneOf(names))
				}
			}
		},
	}
}

// covers reports whether a certificate with the DNS names is valid for name. A wildcard replaces the first label.
func covers(dnsNames []string, name string) bool {
	_, domain, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(dnsNames, func(n string) bool { return strings.EqualFold(n, name) || n == "*."+domain })
}
