package policy

import (
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// tlsRules is the tls field of an ingresses entry.
type tlsRules struct {
	// Required: true means that an Ingress must be served only over TLS. For classes whose controllers Evergate knows,
	// the annotations of the Ingress decide together with spec.tls. For other classes, spec.tls must have a host or a
	// Secret in at least one of its elements.
	Required bool `yaml:"required"`
	// CoversHosts: true means that spec.tls must contain each host of an Ingress, or the wildcard one label above it. If
	// annotations set the certificate and spec.tls is absent, the hosts are not compared.
	CoversHosts bool `yaml:"coversHosts"`
	// AllowHTTP: deny means that the annotation kubernetes.io/ingress.allow-http: "false" must disable plain HTTP. Some
	// controllers support this annotation, for example the controller of GKE. Others ignore it.
	AllowHTTP rule.Denial `yaml:"allowHTTP"`
}

func (t *tlsRules) Validate() error {
	return rule.RejectNone(t.checks(), "required, coversHosts or allowHTTP")
}

func (t *tlsRules) checks() []rule.Check[ingressView] {
	return rule.Checks(
		rule.When(t.Required, tlsRequired{TLSClasses()}),
		rule.When(t.CoversHosts, tlsCoversHosts{TLSClasses()}),
		rule.When(t.AllowHTTP, tlsAllowHTTP{}),
	)
}

// tlsRequired is tls.required. It finds an Ingress that may be served over plain HTTP. For the classes in TLSClasses,
// the annotations decide, with and without spec.tls. For other classes and without a class, spec.tls must contain a
// host or a Secret, because controllers ignore an empty element. If an Ingress sets two classes, both must serve only
// TLS.
type tlsRequired struct{ classes tlsClasses }

func (c tlsRequired) Find(ing *ingressView, r *rule.Recorder) {
	named := false
	for i := range ing.TLS {
		if !r.Spend(1 + len(ing.TLS[i].Hosts)) {
			return
		}
		named = named || namesSomething(&ing.TLS[i])
	}
	class, row, found := c.classes.plain(ing, named, r)
	if !found {
		return
	}
	fault := "is not set, so plain HTTP may be served; set it"
	switch {
	case row != nil && (named || !row.ReadsSpec()):
		fault = "is not enough for the class " + text.Quote(class) + ", so plain HTTP may be served; " + row.Fix
	case len(ing.TLS) > 0:
		fault = "has neither a host nor a Secret, so plain HTTP may be served; list the hosts in spec.tls[].hosts"
	}
	r.Add(rule.Identity{Check: "tls.required"}, "spec.tls", fault)
}

func namesSomething(t *object.IngressTLS) bool {
	return t.SecretName != "" || slices.ContainsFunc(t.Hosts, func(host string) bool { return host != "" })
}

// tlsCoversHosts is tls.coversHosts. It finds each host that spec.tls does not contain, either itself or as a wildcard
// one label above it. Wildcards are compared as in certificates (RFC 6125), so *.example covers a.example, but not
// b.a.example. An element of spec.tls without hosts means the controller's default certificate. The hosts of this
// certificate are unknown, so the element does not cover any host. Without spec.tls, hosts are not covered. If
// annotations or another object make the controller serve only TLS instead, the check does not apply, because the hosts
// of that certificate are unknown too. An absent host and a default backend are never covered.
type tlsCoversHosts struct{ classes tlsClasses }

func (c tlsCoversHosts) Find(ing *ingressView, r *rule.Recorder) {
	if len(ing.TLS) == 0 {
		if _, _, found := c.classes.plain(ing, false, r); !found {
			return
		}
	}
	hosts := ing.ruleHosts(r)
	if ing.coverage == nil {
		ing.coverage = claim.CoverageOf(ing.Ingress, r)
	}
	ing.coverage.Find("tls.coversHosts", hosts, r)
}

// allowHTTPAnnotation makes some controllers stop serving plain HTTP if its value is "false".
const allowHTTPAnnotation = "kubernetes.io/ingress.allow-http"

// tlsAllowHTTP is tls.allowHTTP. It finds an Ingress whose annotation kubernetes.io/ingress.allow-http is not exactly
// "false". Controllers serve plain HTTP if the annotation is absent, and they treat other spellings differently.
type tlsAllowHTTP struct{}

func (tlsAllowHTTP) Find(ing *ingressView, r *rule.Recorder) {
	value, set := ing.Annotations[allowHTTPAnnotation]
	if value == "false" {
		return
	}
	found := "is not set"
	if set {
		found = "is " + text.Quote(value)
	}
	// The identity does not contain the value, because every value other than "false" is the same finding.
	r.Add(rule.Identity{Check: "tls.allowHTTP"}, annotationPath(allowHTTPAnnotation),
		found+`; set it to "false" so that plain HTTP is not served`)
}
