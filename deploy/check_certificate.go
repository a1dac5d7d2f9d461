package deploy

import (
	"cmp"
	"slices"
)

// certificateMissing checks that --tls-cert is in a mounted Secret that exists or that one Certificate issues, and
// that the issuer of the Certificate exists and can sign. A ClusterIssuer may exist in the cluster that manifests
// are made for, and so may the Secret if the manifests contain the CA: see hasSecret. It also checks that --tls-cert
// and --tls-key are files that cert-manager writes to this Secret and that the volume contains, and that the process
// may read them.
func certificateMissing() check {
	return check{
		id: "certificate", severity: Error,
		finds: "a --tls-cert or --tls-key that is not in a mounted Secret or that the process may not read, a Secret that " +
			"does not exist and that no Certificate issues or that two Certificates issue, and an issuer that does not " +
			"exist, uses ACME or does not have a CA that can sign",
		why: "the Pods wait for a Secret that is never created, or serve a certificate that is never renewed. A process " +
			"that may not read its key does not start",
		fix: "add the component cert-manager, or create the Secret with the keys tls.crt, tls.key and ca.crt. Set fsGroup " +
			"in the securityContext of the Pod template, as kustomize/base does",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				c.checkTLSSecret(s, r)
			}
			for crt := range c.servingCertificates {
				c.checkIssuer(crt, r)
			}
			for _, crt := range c.certificates {
				first := c.certificate(crt.Namespace, crt.Spec.SecretName)
				if crt.Namespace == c.namespace && first.Name != crt.Name {
					r.error(c.ref(crt), "it issues the Secret %s, and so does %s: the Secret contains only one of the certificates",
						crt.Spec.SecretName, c.ref(first))
				}
			}
		},
	}
}

func (c *cluster) checkTLSSecret(s *server, r *reporter) {
	if s.settings.TLSCert == "" || !s.settings.Known("tls-cert") {
		return // see the check serve-flags
	}
	secret := s.tlsSecret()
	crt := c.certificate(s.Namespace, secret)
	switch {
	case secret == "":
		r.error(s.process, "--tls-cert=%s is not in a mounted Secret", s.settings.TLSCert)
	case !c.hasSecret(s):
		r.error(s.process, "no Certificate issues the Secret %s, which contains --tls-cert", secret)
	case crt != nil && len(crt.Spec.AdditionalOutputFormats) == 0:
		s.checkTLSFiles(secret, r)
	}
	c.checkFileModes(s, r)
}

// checkTLSFiles reports flags whose value is not a file that cert-manager writes to the Secret.
func (s *server) checkTLSFiles(secret string, r *reporter) {
	for _, f := range []struct{ flag, file string }{
		{"tls-cert", s.settings.TLSCert}, {"tls-key", s.settings.TLSKey},
	} {
		in := s.secretFile(f.file)
		written := in.secret == secret && slices.Contains([]string{"tls.crt", "tls.key", "ca.crt"}, in.key)
		if s.settings.Known(f.flag) && !written {
			r.error(s.process, "--%s=%s is not a mounted file of the Secret %s, which contains tls.crt, tls.key and ca.crt",
				f.flag, printable(f.file), secret)
		}
	}
}

// checkFileModes reports files of Secrets that the process may not read. They belong to root:root, and only fsGroup
// lets another group read them. The check does not report a user that the manifests do not set. OpenShift sets it
// together with fsGroup.
func (c *cluster) checkFileModes(s *server, r *reporter) {
	pod, own := s.security()
	user, group := cmp.Or(own.RunAsUser, pod.RunAsUser), cmp.Or(own.RunAsGroup, pod.RunAsGroup)
	if user == nil || *user == 0 || pod.FSGroup != nil || c.admissionSetsGroup(s) {
		return
	}
	// Without runAsGroup, the group of a process with runAsUser is 0, because the image does not have an /etc/passwd.
	inRoot := group == nil || *group == 0 || slices.Contains(pod.SupplementalGroups, 0)
	for _, f := range []struct{ flag, file string }{
		{"tls-cert", s.settings.TLSCert}, {"tls-key", s.settings.TLSKey},
	} {
		in := s.secretFile(f.file)
		readable := in.mode&0o004 != 0 || inRoot && in.mode&0o040 != 0
		if in.key != "" && s.settings.Known(f.flag) && !readable {
			r.error(s.process, "the user %d may not read --%s=%s, which has the mode %04o and belongs to root: set fsGroup",
				*user, f.flag, printable(f.file), in.mode)
		}
	}
}

// admissionSetsGroup reports whether admission sets the fsGroup of a server's Pods. OpenShift does so in namespaces to
// which it has assigned groups.
func (c *cluster) admissionSetsGroup(s *server) bool {
	ns := find(c.namespaces, "", s.Namespace)
	return ns != nil && ns.Annotations[groupRange]+ns.Annotations[uidRange] != "" ||
		slices.ContainsFunc(c.dryRuns, func(d DryRun) bool {
			return d.Deployment == s.Name && d.Pod != nil && d.Pod.Spec.SecurityContext != nil &&
				d.Pod.Spec.SecurityContext.FSGroup != nil
		})
}
