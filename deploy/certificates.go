package deploy

import (
	"cmp"
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
	const id = "certificate"
	var names []string // DNS names that the API server requests
	for _, h := range i.Hooks {
		if h.ClientConfig.Service != nil && !slices.Contains(names, h.DNSName()) {
			names = append(names, h.DNSName())
		}
	}
	for _, s := range i.Servers {
		i.tlsFiles(s)
		name := s.Settings.ServiceName
		other := len(names) > 0 && name != "" && s.Settings.Known("service-name") && !slices.Contains(names, name)
		i.errorIf(other, "certificate-names", s.Process, "--service-name=%s is not the name that the API server requests, which "+
			"is %s", name, oneOf(names))
	}
	for _, crt := range i.Serving() {
		i.issuer(crt)
		i.durations(crt)
		at := i.Ref(crt)
		for _, name := range names {
			_, domain, _ := strings.Cut(name, ".")
			covered := slices.ContainsFunc(crt.Spec.DNSNames, func(n string) bool {
				return strings.EqualFold(n, name) || n == "*."+domain
			})
			i.errorIf(!covered, "certificate-names", at, "its dnsNames lack %s, which the API server requests", name)
		}
		i.errorIf(!forServers(crt.Spec.Usages), id, at, "its usages lack server auth")
		i.errorIf(crt.Spec.IsCA, id, at, "isCA is true, so the key in every Pod can sign certificates")
	}
	for _, crt := range install.In[*certmanagerv1.Certificate](i.Objects, i.Namespace) {
		first := i.Certificate(crt.Namespace, crt.Spec.SecretName)
		i.errorIf(first != crt, id, i.Ref(crt), "it issues the Secret %s, and so does %s: the Secret contains only one of the "+
			"certificates", crt.Spec.SecretName, i.Ref(first))
	}
	for _, s := range install.Of[*corev1.Secret](i.Objects) {
		for _, key := range []string{"tls.key", "ca.key"} {
			i.errorIf(len(s.Data[key]) > 0 || s.StringData[key] != "", id, i.Ref(s), "it contains %s: everyone who reads this input "+
				"can impersonate Evergate", key)
		}
	}
	i.expiry()
}

// forServers reports whether servers can use a certificate with these usages: one of them allows servers, or none is an
// extended usage.
func forServers(usages []certmanagerv1.KeyUsage) bool {
	extended := func(u certmanagerv1.KeyUsage) bool {
		return !slices.Contains([]certmanagerv1.KeyUsage{"signing", "digital signature", "content commitment",
			"key encipherment", "key agreement", "data encipherment", "cert sign", "crl sign", "encipher only", "decipher only"}, u)
	}
	return slices.Contains(usages, certmanagerv1.UsageServerAuth) || slices.Contains(usages, certmanagerv1.UsageAny) ||
		!slices.ContainsFunc(usages, extended)
}

// tlsFiles inspects whether --tls-cert and --tls-key are files of a Secret that exists, and whether the process may read
// them. They belong to root:root, and only fsGroup lets another group read them. OpenShift sets it together with the
// user.
func (i *inspection) tlsFiles(s *install.Server) {
	const id = "certificate"
	if s.Settings.TLSCert == "" || !s.Settings.Known("tls-cert") {
		return
	}
	secret := s.TLSSecret()
	crt := i.Certificate(s.Namespace, secret)
	i.errorIf(secret == "", id, s.Process, "--tls-cert=%s is not in a mounted Secret", s.Settings.TLSCert)
	i.errorIf(secret != "" && !i.hasSecret(s), id, s.Process, "no Certificate issues the Secret %s, which contains --tls-cert",
		secret)
	pod, own := s.Security()
	user, group := cmp.Or(own.RunAsUser, pod.RunAsUser, new(int64(0))), cmp.Or(own.RunAsGroup, pod.RunAsGroup, new(int64(0)))
	set := pod.FSGroup != nil // by the manifest or by admission
	if ns := install.Find[*corev1.Namespace](i.Objects, "", s.Namespace); ns != nil {
		set = set || ns.Annotations["openshift.io/sa.scc.supplemental-groups"]+
			ns.Annotations["openshift.io/sa.scc.uid-range"] != ""
	}
	if run := i.dryRun(s).Pod; run != nil && run.Spec.SecurityContext != nil {
		set = set || run.Spec.SecurityContext.FSGroup != nil
	}
	// Without runAsGroup, the group of a process with runAsUser is 0, because the image does not have an /etc/passwd.
	inRoot := *group == 0 || slices.Contains(pod.SupplementalGroups, 0)
	for n, file := range []string{s.Settings.TLSCert, s.Settings.TLSKey} {
		flag, in := []string{"tls-cert", "tls-key"}[n], s.SecretFile(file)
		written := in.Secret == secret && slices.Contains([]string{"tls.crt", "tls.key", "ca.crt"}, in.Key)
		readable := *user == 0 || set || in.Mode&0o004 != 0 || inRoot && in.Mode&0o040 != 0
		switch {
		case !s.Settings.Known(flag):
		case crt != nil && len(crt.Spec.AdditionalOutputFormats) == 0 && !written:
			i.error(id, s.Process, "--%s=%s is not a mounted file of the Secret %s, which contains tls.crt, tls.key and ca.crt", flag,
				install.Printable(file), secret)
		case in.Key != "" && !readable:
			i.error(id, s.Process, "the user %d may not read --%s=%s, which has the mode %04o and belongs to root: set fsGroup",
				*user, flag, install.Printable(file), in.Mode)
		}
	}
}

// issuer inspects whether the issuer of a serving Certificate can sign it. In a cluster, an issuer without a known type
// may have a newer type.
func (i *inspection) issuer(crt *certmanagerv1.Certificate) {
	const id = "certificate"
	at, name := i.Ref(crt), install.IssuerName(crt)
	issuer, ok := i.Issuer(crt)
	switch {
	case !i.MayHaveIssuer(crt):
		i.error(id, at, "its issuer, %s, does not exist", name)
	case !ok:
	case issuer.SelfSigned != nil:
		i.error(id, at, "its issuer, %s, is SelfSigned: each renewal changes the certificate that the API server has to trust",
			name)
	case issuer.ACME != nil:
		i.error(id, at, "its issuer, %s, uses ACME: cert-manager does not write a ca.crt, so the API server does not trust the "+
			"certificate", name)
	case issuer.IssuerConfig == (certmanagerv1.IssuerConfig{}) && !install.Live(crt):
		i.error(id, at, "its issuer, %s, does not have a type: set spec.ca.secretName of the issuer", name)
	case issuer.CA != nil:
		i.ca(crt, issuer.CA.SecretName)
	}
}

// ca inspects the CA that signs a serving Certificate. secret is the Secret of its issuer.
func (i *inspection) ca(crt *certmanagerv1.Certificate, secret string) {
	const id = "certificate"
	at, name := i.Ref(crt), install.IssuerName(crt)
	for _, ca := range i.CAs(crt) {
		i.errorIf(!ca.Spec.IsCA, id, i.Ref(ca), "isCA is not true, and the issuer of %s, %s, signs with its Secret %s", at, name,
			secret)
		i.errorIf(!i.MayHaveIssuer(ca), id, i.Ref(ca), "its issuer, %s, does not exist", install.IssuerName(ca))
		never := ca.Spec.PrivateKey != nil && ca.Spec.PrivateKey.RotationPolicy == certmanagerv1.RotationPolicyNever
		i.errorIf(!never, "ca-rotation", i.Ref(ca), "its privateKey.rotationPolicy is not Never")
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
		candidate := ca.Spec.IsCA && ca != crt
		i.warnIf(candidate && ca.Spec.SecretName == secret, id, at, "its issuer, %s, reads the Secret %s in the namespace %s, and "+
			"%s issues it in another namespace", name, secret, oneOf(namespaces), i.Ref(ca))
		unused := ca.Spec.SecretName != secret && ca.Namespace == crt.Namespace && !i.Signs(ca)
		i.warnIf(candidate && unused, id, at, "its issuer, %s, reads the Secret %s, which no Certificate issues, and no issuer "+
			"uses the Secret %s of %s", name, secret, ca.Spec.SecretName, i.Ref(ca))
	}
}

// durations inspects whether a serving Certificate and its CA are renewed in time.
func (i *inspection) durations(leaf *certmanagerv1.Certificate) {
	const id, notBelow = "certificate-durations", "renewBefore %s is not below duration %s"
	at := i.Ref(leaf)
	lifetime, before := durationsOf(leaf)
	i.errorIf(before >= lifetime, id, at, notBelow, hours(before), hours(lifetime))
	i.warnIf(before < lifetime && before < minRenewBefore, id, at, "it is renewed %s before it expires, and a renewal may fail "+
		"for longer", hours(before))
	for _, ca := range i.CAs(leaf) {
		lasts, before := durationsOf(ca)
		i.errorIf(before >= lasts, id, i.Ref(ca), notBelow, hours(before), hours(lasts))
		i.errorIf(before < lifetime, id, i.Ref(ca), "it is renewed %s before it expires, and %s, which it signs, is valid for %s",
			hours(before), at, hours(lifetime))
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
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	for _, secret := range i.ServingSecrets() {
		chain, err := certs.Parse(secret.Data[corev1.TLSCertKey])
		if err != nil {
			i.error(id, i.Ref(secret), "its tls.crt cannot be read: %v", err)
			continue
		}
		i.errorIf(!inDate(chain, i.Now), id, i.Ref(secret), "its certificate is valid from %s to %s, and it is %s",
			stamp(chain[0].NotBefore), stamp(chain[0].NotAfter), stamp(i.Now))
	}
	if len(i.Served) > 0 && !inDate(i.Served, i.Now) {
		i.error(id, i.Anchor(), "the certificate that its Service serves is valid from %s to %s, and it is %s",
			stamp(i.Served[0].NotBefore), stamp(i.Served[0].NotAfter), stamp(i.Now))
	}
	for _, crt := range i.Serving() {
		for _, c := range crt.Status.Conditions {
			ready := c.Type != certmanagerv1.CertificateConditionReady || c.Status == cmmeta.ConditionTrue
			i.errorIf(!ready, id, i.Ref(crt), "it is not ready: %s", c.Message)
		}
		if due := crt.Status.RenewalTime; due != nil && i.Now.Sub(due.Time) > overdue {
			i.warning(id, i.Ref(crt), "its renewal was due at %s", stamp(due.Time))
		}
	}
}

// hours formats a duration as Certificates do: 2160h, and 24h30m.
func hours(d time.Duration) string {
	if d%time.Minute != 0 {
		return d.String()
	}
	s := strings.TrimSuffix(d.String(), "0s")
	if d%time.Hour == 0 && d != 0 {
		s = fmt.Sprintf("%dh", d/time.Hour)
	}
	return s
}
