package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// tlsRules is the field tls of an ingresses entry.
type tlsRules struct {
	// Required: true means that an Ingress must have spec.tls, and that an element of it must name a host or a Secret. If
	// the controller of the class reads certificates from annotations, the annotations that serve it only by TLS do too.
	Required bool `yaml:"required"`
	// CoversHosts: true means that spec.tls must name each host of an Ingress, or the wildcard one label above it. Where
	// annotations name the certificate, and there is no spec.tls, the hosts are not compared.
	CoversHosts bool `yaml:"coversHosts"`
	// AllowHTTP: deny means that the annotation kubernetes.io/ingress.allow-http: "false" must disable plain HTTP. Some
	// controllers support it, among them GKE's; others ignore it.
	AllowHTTP denial `yaml:"allowHTTP"`
}

// Validate implements strict.Validator.
func (t *tlsRules) Validate() error {
	if len(t.checks()) == 0 {
		return errNoCheck("required, coversHosts or allowHTTP")
	}
	return nil
}

func (t *tlsRules) checks() []check[ingressView] {
	if t == nil {
		return nil
	}
	var checks []check[ingressView]
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

// tlsRequired is tls.required: it finds an Ingress without spec.tls, and one in which no element of spec.tls names a
// host or a Secret, because controllers ignore {}. Annotations that serve an Ingress only by TLS do too: see
// tlsAnnotations.
type tlsRequired struct{}

func (tlsRequired) find(ing *ingressView, r *report) {
	for i := range ing.TLS {
		if !r.spend(1+len(ing.TLS[i].Hosts)) || ing.TLS[i].namesSomething() {
			return
		}
	}
	by := ing.tlsAnnotations(r)
	if by.served {
		return
	}
	fault := "is not set, so plain HTTP may be served; set it"
	if len(ing.TLS) > 0 {
		fault = "names no host and no Secret, so plain HTTP may be served; list the hosts in spec.tls[].hosts"
	}
	if by.lacks != "" {
		fault += ", or " + by.lacks
	}
	r.add(identity{check: "tls.required"}, "spec.tls", fault)
}

// namesSomething reports whether the element names a host or a Secret.
func (t *IngressTLS) namesSomething() bool {
	return t.SecretName != "" || slices.ContainsFunc(t.Hosts, func(host string) bool { return host != "" })
}

// tlsCoversHosts is tls.coversHosts: it finds each host that spec.tls names neither itself nor by a wildcard one label
// above it, as certificates do (RFC 6125): *.example covers a.example, but not b.a.example. An element of spec.tls
// without hosts means the controller's own certificate, whose hosts are unknown here: it covers nothing. Without
// spec.tls no host is covered, unless annotations serve the Ingress only by TLS: what their certificate covers is not
// known. An absent host and a default backend are never covered.
type tlsCoversHosts struct{}

func (tlsCoversHosts) find(ing *ingressView, r *report) {
	if len(ing.TLS) == 0 && ing.tlsAnnotations(r).served {
		return
	}
	hosts := ing.ruleHosts(r)
	certificates := ing.tlsCoverage(r)
	for i := range hosts {
		h := &hosts[i]
		if !r.spend(h.steps()) {
			return
		}
		if _, ok := certificates.hosts.Covers(h.asCertified()); ok {
			continue
		}
		if f := r.tryAdd(h.identity("tls.coversHosts")); f != nil {
			f.Path, f.Reason = h.at.String(), certificates.uncovered(h)
		}
	}
}

// asCertified returns what the text of a claim means in a certificate: where the controller takes *.example for names
// at any depth, no certificate has more of them than those one label below.
func (h *hostClaim) asCertified() match.HostPattern {
	p := h.HostPattern
	if p.Depth == match.LabelsBelow && !p.IsEvery() {
		p.Depth = match.OneLabelBelow
	}
	return p
}

// tlsCoverage is what spec.tls of an Ingress covers.
type tlsCoverage struct {
	hosts   *match.HostSet
	unnamed string // the end of the sentences if an element of spec.tls names no host
}

// tlsCoverage returns what spec.tls of an Ingress covers.
func (ing *ingressView) tlsCoverage(r *report) *tlsCoverage {
	if ing.coverage != nil {
		return ing.coverage
	}
	c := &tlsCoverage{}
	n := 0
	for i := range ing.TLS {
		n += len(ing.TLS[i].Hosts)
		if len(ing.TLS[i].Hosts) == 0 && c.unnamed == "" {
			c.unnamed = fmt.Sprintf(" (spec.tls[%d] names no host, so what it covers is not known)", i)
		}
	}
	c.hosts = match.MakeHostSet(n)
	for i := range ing.TLS {
		for _, h := range ing.TLS[i].Hosts {
			if !r.spend(ledgerSteps + stepsOf(1, h)) {
				return c
			}
			// No certificate has ** or an empty name.
			if p := match.ParseHost(h); p.Depth != match.LabelsBelow {
				c.hosts.Add(p)
			}
		}
	}
	ing.coverage = c
	return c
}

// uncovered returns the sentence about a host that is not covered.
func (c *tlsCoverage) uncovered(h *hostClaim) string {
	if h.IsEvery() {
		return h.at.every() + "; no certificate covers that" + strings.Replace(h.at.setOne(), ";", ",", 1)
	}
	p := h.asCertified()
	reason := text.Quote(p.String()) + " is in no spec.tls[].hosts; add it"
	if parent := match.ParentHost(h.Name); h.Depth == match.HostItself && parent != "" {
		reason += " or " + text.Quote("*."+parent)
	}
	return reason + c.unnamed
}

// allowHTTPAnnotation makes some controllers serve no plain HTTP beside TLS.
const allowHTTPAnnotation = "kubernetes.io/ingress.allow-http"

// tlsAllowHTTP is tls.allowHTTP: it finds an Ingress whose annotation kubernetes.io/ingress.allow-http is not exactly
// "false": controllers serve plain HTTP where it is absent, and differ in other spellings.
type tlsAllowHTTP struct{}

func (tlsAllowHTTP) find(ing *ingressView, r *report) {
	value, set := ing.Annotations[allowHTTPAnnotation]
	if value == "false" {
		return
	}
	found := "is not set"
	if set {
		found = "is " + text.Quote(value)
	}
	// The identity has no value: every other value is the same finding.
	r.add(identity{check: "tls.allowHTTP"}, annotationPath(allowHTTPAnnotation),
		found+`; set it to "false", so that plain HTTP is not served`)
}
