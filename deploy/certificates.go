package deploy

import (
	"cmp"
	"crypto/x509"
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
	minRenewBefore = 72 * time.Hour // how long a renewal may fail before clients notice: a long weekend
	overdue        = 2 * time.Hour  // how late a renewal may be. cert-manager retries within the hour

	injectBundle = "service.beta.openshift.io/inject-cabundle" // service-ca-operator, pkg/controller/api/api.go
)

// trust inspects whether the API server trusts the serving certificate, now and after a renewal.
func (i *inspection) trust() {
	reported := map[string]bool{} // each wrong value once for all configurations
	for n, h := range i.Hooks {
		config, annotations := h.Config, h.Config.GetAnnotations()
		if n > 0 && i.Hooks[n-1].Config == config || i.hasOwnCA(config) {
			continue
		}
		literal := slices.ContainsFunc(i.Hooks, func(h *install.Hook) bool {
			return h.Config == config && h.ClientConfig.CABundle != nil // also if it is empty
		})
		if install.Live(config) { // cert-manager has written it
			literal = strings.Contains(annotations[corev1.LastAppliedConfigAnnotation], `"caBundle"`)
		}
		i.at("literal-ca-bundle", i.Ref(config)).error(literal, "its manifest contains a caBundle")
		value := annotations[certmanagerv1.WantInjectAnnotation]
		problem := i.injectorProblem(value)
		other := annotations[certmanagerv1.WantInjectFromSecretAnnotation] != ""
		if problem != "" && !i.answers(config) && !other && !reported[value] {
			reported[value] = value != ""
			i.at("ca-injector", i.Ref(config)).error(true, "%s", problem)
		}
	}
	chain, from := i.Served, "the certificate that the Service serves"
	for _, secret := range i.ServingSecrets() {
		if parsed, err := certs.Parse(secret.Data[corev1.TLSCertKey]); err == nil && len(chain) == 0 {
			chain, from = parsed, i.Ref(secret).String()
		}
	}
	for _, h := range i.Hooks {
		f := i.at("served-chain", h.Ref)
		switch {
		case !install.Live(h.Config) || h.ClientConfig.Service == nil || i.Answers[h.Name].Policy != "":
		case !hasCA(h):
			f.error(true, "its caBundle is empty: nothing has injected the CA")
		case inDate(chain, i.Now): // see expiry for other certificates
			err := certs.Verify(chain, h.ClientConfig.CABundle, h.DNSName(), i.Now)
			f.error(err != nil, "its caBundle does not verify %s: %v", from, err)
		}
	}
}

// inDate reports whether a time is in the validity period of the leaf of a chain. It is false without a chain.
func inDate(chain []*x509.Certificate, now time.Time) bool {
	return len(chain) > 0 && !now.Before(chain[0].NotBefore) && !now.After(chain[0].NotAfter)
}

// injectorProblem returns the problem with the annotation of cert-manager's CA injector. It is "" if its value is
// right, and if the Deployment or the Secret of the Certificate is missing, which is another finding.
func (i *inspection) injectorProblem(value string) string {
	const is = certmanagerv1.WantInjectAnnotation + " is "
	namespace, name, ok := strings.Cut(value, "/")
	crt := install.Find[*certmanagerv1.Certificate](i.Objects, namespace, name)
	switch {
	case len(i.Servers) == 0 && len(i.Elsewhere) > 0:
		return ""
	case slices.ContainsFunc(i.Servers, func(s *install.Server) bool { return !i.hasSecret(s) }):
		return ""
	case value == "":
		return "it has no annotation " + certmanagerv1.WantInjectAnnotation
	case !ok:
		return is + value + ", which is not <namespace>/<Certificate>"
	case crt == nil:
		return is + "the Certificate " + value + ", which does not exist"
	}
	for _, s := range i.Servers {
		if secret := s.TLSSecret(); secret != "" && (s.Namespace != namespace || secret != crt.Spec.SecretName) {
			return is + "the Certificate " + value + ", whose Secret " + crt.Spec.SecretName + " is not the Secret that " +
				s.Ref.String() + " serves with"
		}
	}
	return ""
}

func hasCA(h *install.Hook) bool { return len(h.ClientConfig.CABundle) > 0 }

// hasOwnCA reports whether cert-manager does not inject the CA of a webhook configuration. This is so if OpenShift's
// service CA injects it, or if no annotation requests it, and if no Certificate issues a Secret that Evergate serves
// with or all webhooks call URLs, whose certificates another CA may have signed.
func (i *inspection) hasOwnCA(config install.Object) bool {
	of := config.GetAnnotations()
	injected := of[certmanagerv1.WantInjectAnnotation] + of[certmanagerv1.WantInjectFromSecretAnnotation]
	if injected != "" || of[injectBundle] == "true" {
		return injected == ""
	}
	is := install.Filter(i.Hooks, func(h *install.Hook) bool { return h.Config == config })
	return !slices.ContainsFunc(is, func(h *install.Hook) bool { return h.URL == "" }) ||
		len(i.Serving()) == 0 && !slices.ContainsFunc(is, func(h *install.Hook) bool { return !hasCA(h) })
}

// hasSecret reports whether the input has the Secret that contains --tls-cert of a server, or a Certificate for it. It
// also returns true if the flag is not known, and for manifests that contain the CA, because another PKI then creates
// the Secret.
func (i *inspection) hasSecret(s *install.Server) bool {
	if s.Settings.TLSCert == "" || !s.Settings.Known("tls-cert") {
		return true
	}
	ownCAs := !slices.ContainsFunc(i.Hooks, func(h *install.Hook) bool {
		return !hasCA(h) && h.Config.GetAnnotations()[injectBundle] == "" || !i.hasOwnCA(h.Config)
	})
	secret := s.TLSSecret()
	crt, is := i.Certificate(s.Namespace, secret), install.Find[*corev1.Secret](i.Objects, s.Namespace, secret)
	return secret != "" && (crt != nil || is != nil || !i.Live && ownCAs)
}

// certificates inspects the Secrets with the serving certificates, and the Certificates that issue them.
func (i *inspection) certificates() {
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
		i.at("certificate-names", s.Process).error(other, "--service-name=%s is not the name that the API server requests, "+
			"which is %s", name, oneOf(names))
	}
	for _, crt := range i.Serving() {
		i.issuer(crt)
		i.durations(crt)
		for _, name := range names {
			_, domain, _ := strings.Cut(name, ".")
			covered := slices.ContainsFunc(crt.Spec.DNSNames, func(n string) bool {
				return strings.EqualFold(n, name) || n == "*."+domain
			})
			i.at("certificate-names", i.Ref(crt)).error(!covered, "its dnsNames lack %s, which the API server requests", name)
		}
		f := i.at("certificate", i.Ref(crt))
		f.error(!forServers(crt.Spec.Usages), "its usages lack server auth")
		f.error(crt.Spec.IsCA, "isCA is true, so the key in every Pod can sign certificates")
	}
	for _, crt := range install.In[*certmanagerv1.Certificate](i.Objects, i.Namespace) {
		first := i.Certificate(crt.Namespace, crt.Spec.SecretName)
		i.at("certificate", i.Ref(crt)).error(first != crt, "it issues the Secret %s, and so does %s: the Secret contains "+
			"only one of the certificates", crt.Spec.SecretName, i.Ref(first))
	}
	for _, s := range install.Of[*corev1.Secret](i.Objects) {
		for _, key := range []string{"tls.key", "ca.key"} {
			i.at("certificate", i.Ref(s)).error(len(s.Data[key]) > 0 || s.StringData[key] != "",
				"it contains %s: everyone who reads this input can impersonate Evergate", key)
		}
	}
	i.expiry()
}

// forServers reports whether servers can use a certificate with these usages: one of them allows servers, or none is an
// extended usage.
func forServers(usages []certmanagerv1.KeyUsage) bool {
	extended := func(u certmanagerv1.KeyUsage) bool {
		return !slices.Contains([]certmanagerv1.KeyUsage{"signing", "digital signature", "content commitment",
			"key encipherment", "key agreement", "data encipherment", "cert sign", "crl sign", "encipher only",
			"decipher only"}, u)
	}
	return slices.Contains(usages, certmanagerv1.UsageServerAuth) || slices.Contains(usages, certmanagerv1.UsageAny) ||
		!slices.ContainsFunc(usages, extended)
}

// tlsFiles inspects whether --tls-cert and --tls-key are files of a Secret that exists.
func (i *inspection) tlsFiles(s *install.Server) {
	f, secret := i.at("certificate", s.Process), s.TLSSecret()
	if s.Settings.TLSCert == "" || !s.Settings.Known("tls-cert") {
		return
	}
	f.error(secret == "", "--tls-cert=%s is not in a mounted Secret", s.Settings.TLSCert)
	f.error(secret != "" && !i.hasSecret(s), "no Certificate issues the Secret %s, which contains --tls-cert", secret)
	crt := i.Certificate(s.Namespace, secret)
	for _, file := range [][2]string{{"tls-cert", s.Settings.TLSCert}, {"tls-key", s.Settings.TLSKey}} {
		from, key := s.SecretFile(file[1])
		written := from == secret && slices.Contains([]string{"tls.crt", "tls.key", "ca.crt"}, key)
		f.error(s.Settings.Known(file[0]) && crt != nil && len(crt.Spec.AdditionalOutputFormats) == 0 && !written,
			"--%s=%s is not a mounted file of the Secret %s, which contains tls.crt, tls.key and ca.crt", file[0],
			file[1], secret)
	}
}

// issuer inspects whether the issuer of a serving Certificate can sign it, and its CA. In a cluster, an issuer without
// a known type may have a newer type.
func (i *inspection) issuer(crt *certmanagerv1.Certificate) {
	issuer, ok := i.Issuer(crt)
	problem := ""
	switch {
	case !i.MayHaveIssuer(crt):
		problem = "does not exist"
	case !ok:
	case issuer.SelfSigned != nil:
		problem = "is SelfSigned: each renewal changes the certificate that the API server has to trust"
	case issuer.ACME != nil:
		problem = "uses ACME: cert-manager does not write a ca.crt, so the API server does not trust the certificate"
	case issuer.IssuerConfig == (certmanagerv1.IssuerConfig{}) && !install.Live(crt):
		problem = "does not have a type: set spec.ca.secretName of the issuer"
	}
	at, name := i.Ref(crt), install.IssuerName(crt)
	i.at("certificate", at).error(problem != "", "its issuer, %s, %s", name, problem)
	for _, ca := range i.CAs(crt) {
		f, key := i.at("certificate", i.Ref(ca)), cmp.Or(ca.Spec.PrivateKey, &certmanagerv1.CertificatePrivateKey{})
		f.error(!ca.Spec.IsCA, "isCA is not true, and the issuer of %s, %s, signs with its Secret %s", at, name,
			ca.Spec.SecretName)
		f.error(!i.MayHaveIssuer(ca), "its issuer, %s, does not exist", install.IssuerName(ca))
		i.at("ca-rotation", i.Ref(ca)).error(key.RotationPolicy != certmanagerv1.RotationPolicyNever,
			"its privateKey.rotationPolicy is not Never")
	}
}

// durations inspects whether a serving Certificate and its CA are renewed in time.
func (i *inspection) durations(leaf *certmanagerv1.Certificate) {
	const id, notBelow = "certificate-durations", "renewBefore %s is not below duration %s"
	lifetime, before := durationsOf(leaf)
	f := i.at(id, i.Ref(leaf))
	f.error(before >= lifetime, notBelow, before, lifetime)
	f.warn(before < lifetime && before < minRenewBefore,
		"it is renewed %s before it expires, and a renewal may fail for longer", before)
	for _, ca := range i.CAs(leaf) {
		f, lasts, before := i.at(id, i.Ref(ca)), time.Duration(0), time.Duration(0)
		lasts, before = durationsOf(ca)
		f.error(before >= lasts, notBelow, before, lasts)
		f.error(before < lifetime, "it is renewed %s before it expires, and %s, which it signs, is valid for %s",
			before, i.Ref(leaf), lifetime)
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
	const id, valid = "certificate-expiry", "valid from %s to %s, and it is %s"
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	for _, secret := range i.ServingSecrets() {
		f := i.at(id, i.Ref(secret))
		chain, err := certs.Parse(secret.Data[corev1.TLSCertKey])
		f.error(err != nil, "its tls.crt cannot be read: %v", err)
		if err == nil {
			f.error(!inDate(chain, i.Now), "its certificate is "+valid, stamp(chain[0].NotBefore), stamp(chain[0].NotAfter),
				stamp(i.Now))
		}
	}
	if len(i.Served) > 0 {
		i.at(id, i.Anchor()).error(!inDate(i.Served, i.Now), "the certificate that its Service serves is "+valid,
			stamp(i.Served[0].NotBefore), stamp(i.Served[0].NotAfter), stamp(i.Now))
	}
	for _, crt := range i.Serving() {
		f, due := i.at(id, i.Ref(crt)), crt.Status.RenewalTime
		for _, c := range crt.Status.Conditions {
			ready := c.Type != certmanagerv1.CertificateConditionReady || c.Status == cmmeta.ConditionTrue
			f.error(!ready, "it is not ready: %s", c.Message)
		}
		if due != nil {
			f.warn(i.Now.Sub(due.Time) > overdue, "its renewal was due at %s", stamp(due.Time))
		}
	}
}
