package deploy

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/certs"
	"github.com/evergate/evergate/deploy/install"
)

const (
	// minRenewBefore is how long a renewal may fail before clients notice: a long weekend.
	minRenewBefore = 72 * time.Hour

	// overdue is how late a renewal may be before it counts as failed. cert-manager retries within the hour.
	overdue = 2 * time.Hour
)

// certificates inspects the Secrets with the serving certificates, and the Certificates that issue them.
func (i *inspection) certificates() {
	names := i.serviceNames()
	for _, s := range i.Servers {
		i.tlsFiles(s)
		name := s.Settings.ServiceName
		if len(names) > 0 && name != "" && s.Settings.Known("service-name") && !slices.Contains(names, name) {
			i.error("certificate-names", s.Process, "--service-name=%s is not the name that the API server requests, which is %s",
				name, oneOf(names))
		}
	}
	for _, crt := range i.Serving() {
		i.issuer(crt)
		i.leaf(crt, names)
		i.durations(crt)
	}
	for _, crt := range install.In[*certmanagerv1.Certificate](i.Objects, i.Namespace) {
		if first := i.Certificate(crt.Namespace, crt.Spec.SecretName); first.Name != crt.Name {
			i.error("certificate", i.Ref(crt), "it issues the Secret %s, and so does %s: the Secret contains only one of the "+
				"certificates", crt.Spec.SecretName, i.Ref(first))
		}
	}
	for _, s := range install.Of[*corev1.Secret](i.Objects) {
		for _, key := range []string{"tls.key", "ca.key"} {
			if len(s.Data[key]) > 0 || s.StringData[key] != "" {
				i.error("certificate", i.Ref(s), "it contains %s: everyone who reads this input can impersonate Evergate", key)
			}
		}
	}
	i.expiry()
}

// serviceNames lists the DNS names that Evergate's webhooks call, without duplicates.
func (i *inspection) serviceNames() []string {
	var names []string
	for _, h := range i.Hooks {
		if h.ClientConfig.Service != nil && !slices.Contains(names, h.DNSName()) {
			names = append(names, h.DNSName())
		}
	}
	return names
}

// tlsFiles inspects whether --tls-cert and --tls-key are files of a Secret that exists, and whether the process may read
// them. They belong to root:root, and only fsGroup lets another group read them. OpenShift sets it together with the
// user.
func (i *inspection) tlsFiles(s *install.Server) {
	if s.Settings.TLSCert == "" || !s.Settings.Known("tls-cert") {
		return
	}
	secret := s.TLSSecret()
	crt := i.Certificate(s.Namespace, secret)
	switch {
	case secret == "":
		i.error("certificate", s.Process, "--tls-cert=%s is not in a mounted Secret", s.Settings.TLSCert)
	case !i.hasSecret(s):
		i.error("certificate", s.Process, "no Certificate issues the Secret %s, which contains --tls-cert", secret)
	}
	pod, own := s.Security()
	user, group := cmp.Or(own.RunAsUser, pod.RunAsUser), cmp.Or(own.RunAsGroup, pod.RunAsGroup)
	unprivileged := user != nil && *user != 0 && pod.FSGroup == nil && !i.admissionSetsGroup(s)
	// Without runAsGroup, the group of a process with runAsUser is 0, because the image does not have an /etc/passwd.
	inRoot := group == nil || *group == 0 || slices.Contains(pod.SupplementalGroups, 0)
	for _, f := range []struct{ flag, file string }{
		{"tls-cert", s.Settings.TLSCert}, {"tls-key", s.Settings.TLSKey},
	} {
		in := s.SecretFile(f.file)
		written := in.Secret == secret && slices.Contains([]string{"tls.crt", "tls.key", "ca.crt"}, in.Key)
		readable := in.Mode&0o004 != 0 || inRoot && in.Mode&0o040 != 0
		switch {
		case !s.Settings.Known(f.flag):
		case crt != nil && len(crt.Spec.AdditionalOutputFormats) == 0 && !written:
			i.error("certificate", s.Process, "--%s=%s is not a mounted file of the Secret %s, which contains tls.crt, tls.key "+
				"and ca.crt", f.flag, install.Printable(f.file), secret)
		case in.Key != "" && unprivileged && !readable:
			i.error("certificate", s.Process, "the user %d may not read --%s=%s, which has the mode %04o and belongs to root: "+
				"set fsGroup", *user, f.flag, install.Printable(f.file), in.Mode)
		}
	}
}

// admissionSetsGroup reports whether admission sets the fsGroup of a server's Pods. OpenShift does so in namespaces to
// which it has assigned groups.
func (i *inspection) admissionSetsGroup(s *install.Server) bool {
	ns := install.Find[*corev1.Namespace](i.Objects, "", s.Namespace)
	run := i.dryRun(s)
	return ns != nil &&
		ns.Annotations["openshift.io/sa.scc.supplemental-groups"]+ns.Annotations["openshift.io/sa.scc.uid-range"] != "" ||
		run.Pod != nil && run.Pod.Spec.SecurityContext != nil && run.Pod.Spec.SecurityContext.FSGroup != nil
}

// leaf inspects the fields of a serving Certificate.
func (i *inspection) leaf(crt *certmanagerv1.Certificate, names []string) {
	at := i.Ref(crt)
	for _, name := range names {
		_, domain, _ := strings.Cut(name, ".")
		if !slices.ContainsFunc(crt.Spec.DNSNames, func(n string) bool {
			return strings.EqualFold(n, name) || n == "*."+domain
		}) {
			i.error("certificate-names", at, "its dnsNames lack %s, which the API server requests", name)
		}
	}
	// These usages are not extended usages, so a certificate that has only them may be used for everything.
	limited := slices.ContainsFunc(crt.Spec.Usages, func(u certmanagerv1.KeyUsage) bool {
		return !slices.Contains([]certmanagerv1.KeyUsage{
			certmanagerv1.UsageSigning, certmanagerv1.UsageDigitalSignature, certmanagerv1.UsageContentCommitment,
			certmanagerv1.UsageKeyEncipherment, certmanagerv1.UsageKeyAgreement, certmanagerv1.UsageDataEncipherment,
			certmanagerv1.UsageCertSign, certmanagerv1.UsageCRLSign, certmanagerv1.UsageEncipherOnly,
			certmanagerv1.UsageDecipherOnly,
		}, u)
	})
	if limited && !slices.Contains(crt.Spec.Usages, certmanagerv1.UsageServerAuth) &&
		!slices.Contains(crt.Spec.Usages, certmanagerv1.UsageAny) {
		i.error("certificate", at, "its usages lack server auth")
	}
	if crt.Spec.IsCA {
		i.error("certificate", at, "isCA is true, so the key in every Pod can sign certificates")
	}
}

// issuer inspects whether the issuer of a serving Certificate can sign it. In a cluster, an issuer without a known type
// may have a newer type.
func (i *inspection) issuer(crt *certmanagerv1.Certificate) {
	at, name := i.Ref(crt), install.IssuerName(crt)
	issuer, ok := i.Issuer(crt)
	switch {
	case !i.MayHaveIssuer(crt):
		i.error("certificate", at, "its issuer, %s, does not exist", name)
	case ok && issuer.SelfSigned != nil:
		i.error("certificate", at, "its issuer, %s, is SelfSigned: each renewal changes the certificate that the API server has "+
			"to trust", name)
	case ok && issuer.ACME != nil:
		i.error("certificate", at, "its issuer, %s, uses ACME: cert-manager does not write a ca.crt, so the API server does not "+
			"trust the certificate", name)
	case ok && issuer.IssuerConfig == (certmanagerv1.IssuerConfig{}) && !install.Live(crt):
		i.error("certificate", at, "its issuer, %s, does not have a type: set spec.ca.secretName of the issuer", name)
	case ok && issuer.CA != nil:
		i.ca(crt, issuer.CA.SecretName)
	}
}

// ca inspects the CA that signs a serving Certificate. secret is the Secret of its issuer.
func (i *inspection) ca(crt *certmanagerv1.Certificate, secret string) {
	at, name := i.Ref(crt), install.IssuerName(crt)
	for _, ca := range i.CAs(crt) {
		if !ca.Spec.IsCA {
			i.error("certificate", i.Ref(ca), "isCA is not true, and the issuer of %s, %s, signs with its Secret %s", at, name,
				secret)
		}
		if !i.MayHaveIssuer(ca) {
			i.error("certificate", i.Ref(ca), "its issuer, %s, does not exist", install.IssuerName(ca))
		}
		if key := ca.Spec.PrivateKey; key == nil || key.RotationPolicy != certmanagerv1.RotationPolicyNever {
			i.error("ca-rotation", i.Ref(ca), "its privateKey.rotationPolicy is not Never")
		}
	}
	namespaces := []string{crt.Namespace}
	if crt.Spec.IssuerRef.Kind == certmanagerv1.ClusterIssuerKind {
		namespaces = i.CertManager()
	}
	exists := slices.ContainsFunc(namespaces, func(namespace string) bool { return i.HasSecret(namespace, secret) })
	if exists || install.Live(crt) { // in a cluster, see expiry
		return
	}
	// The Secret may exist although the input does not contain it, so only a CA that seems to be meant is reported.
	for _, ca := range install.Of[*certmanagerv1.Certificate](i.Objects) {
		switch {
		case !ca.Spec.IsCA || ca == crt:
		case ca.Spec.SecretName == secret:
			i.warning("certificate", at, "its issuer, %s, reads the Secret %s in the namespace %s, and %s issues it in another "+
				"namespace", name, secret, oneOf(namespaces), i.Ref(ca))
		case ca.Namespace == crt.Namespace && !i.signs(ca):
			i.warning("certificate", at, "its issuer, %s, reads the Secret %s, which no Certificate issues, and no issuer uses the "+
				"Secret %s of %s", name, secret, ca.Spec.SecretName, i.Ref(ca))
		}
	}
}

// signs reports whether an issuer signs with the Secret of a CA Certificate.
func (i *inspection) signs(ca *certmanagerv1.Certificate) bool {
	uses := func(spec certmanagerv1.IssuerSpec) bool {
		return spec.CA != nil && spec.CA.SecretName == ca.Spec.SecretName
	}
	return slices.ContainsFunc(install.In[*certmanagerv1.Issuer](i.Objects, ca.Namespace),
		func(is *certmanagerv1.Issuer) bool { return uses(is.Spec) }) ||
		slices.ContainsFunc(install.Of[*certmanagerv1.ClusterIssuer](i.Objects),
			func(is *certmanagerv1.ClusterIssuer) bool { return uses(is.Spec) })
}

// durations inspects whether a serving Certificate and its CA are renewed in time.
func (i *inspection) durations(leaf *certmanagerv1.Certificate) {
	const id, notBelow = "certificate-durations", "renewBefore %s is not below duration %s"
	lifetime, before := durationsOf(leaf)
	switch {
	case before >= lifetime:
		i.error(id, i.Ref(leaf), notBelow, hours(before), hours(lifetime))
	case before < minRenewBefore:
		i.warning(id, i.Ref(leaf), "it is renewed %s before it expires, and a renewal may fail for longer", hours(before))
	}
	for _, ca := range i.CAs(leaf) {
		lasts, before := durationsOf(ca)
		if before >= lasts {
			i.error(id, i.Ref(ca), notBelow, hours(before), hours(lasts))
		}
		if before < lifetime {
			i.error(id, i.Ref(ca), "it is renewed %s before it expires, and %s, which it signs, is valid for %s", hours(before),
				i.Ref(leaf), hours(lifetime))
		}
	}
}

// durationsOf returns how long a Certificate is valid, and how long before its expiry it is renewed.
func durationsOf(crt *certmanagerv1.Certificate) (lifetime, before time.Duration) {
	lifetime = certmanagerv1.DefaultCertificateDuration
	if crt.Spec.Duration != nil {
		lifetime = crt.Spec.Duration.Duration
	}
	switch {
	case crt.Spec.RenewBefore != nil:
		return lifetime, crt.Spec.RenewBefore.Duration
	case crt.Spec.RenewBeforePercentage != nil:
		return lifetime, lifetime * time.Duration(*crt.Spec.RenewBeforePercentage) / 100
	}
	return lifetime, lifetime / 3 // cert-manager's default
}

// expiry inspects whether the served certificate is in date, whether its Certificate is ready, and whether cert-manager
// renewed it when it was due.
func (i *inspection) expiry() {
	const id = "certificate-expiry"
	validity := func(c *x509.Certificate) string {
		return fmt.Sprintf("valid from %s to %s, and it is %s", stamp(c.NotBefore), stamp(c.NotAfter), stamp(i.Now))
	}
	for _, secret := range i.ServingSecrets() {
		if chain, err := certs.Parse(secret.Data[corev1.TLSCertKey]); err != nil {
			i.error(id, i.Ref(secret), "its tls.crt cannot be read: %v", err)
		} else if !inDate(chain[0], i.Now) {
			i.error(id, i.Ref(secret), "its certificate is %s", validity(chain[0]))
		}
	}
	if len(i.Served) > 0 && !inDate(i.Served[0], i.Now) {
		i.error(id, i.Anchor(), "the certificate that its Service serves is %s", validity(i.Served[0]))
	}
	for _, crt := range i.Serving() {
		for _, condition := range crt.Status.Conditions {
			if condition.Type == certmanagerv1.CertificateConditionReady && condition.Status != cmmeta.ConditionTrue {
				i.error(id, i.Ref(crt), "it is not ready: %s", condition.Message)
			}
		}
		if due := crt.Status.RenewalTime; due != nil && i.Now.Sub(due.Time) > overdue {
			i.warning(id, i.Ref(crt), "its renewal was due at %s", stamp(due.Time))
		}
	}
}

func inDate(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && !now.After(c.NotAfter)
}

// hours formats a duration as Certificates do: 2160h, and 24h30m.
func hours(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if rest, ok := strings.CutSuffix(s, zero); ok && strings.TrimRight(rest, "hm") != rest {
			s = rest // 10m0s, but not 10s
		}
	}
	return s
}

// stamp formats a time.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
