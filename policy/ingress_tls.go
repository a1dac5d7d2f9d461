package policy

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

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

// tlsRequired is tls.required: it finds an Ingress without spec.tls.
type tlsRequired struct{}

func (tlsRequired) find(ing *Ingress, r *report) {
	if len(ing.TLS) == 0 {
		r.add(identity{check: "tls.required"}, "spec.tls", "is not set, so that plain HTTP is served; set it")
	}
}

// tlsCoversHosts is tls.coversHosts: it finds each host that spec.tls names neither as it is nor by a wildcard one
// label above it, as certificates have them (RFC 6125): *.example covers a.example, but not b.a.example. An element of
// spec.tls without hosts means the controller's own certificate: what that covers is not known here, so it covers
// nothing. Without spec.tls no host is covered, and an absent host and a default backend cannot be.
type tlsCoversHosts struct{}

func (tlsCoversHosts) find(ing *Ingress, r *report) {
	hosts := r.ingressHosts(ing)
	certificates := r.tlsCoverage(ing)
	for i := range hosts {
		h := &hosts[i]
		if !r.spend(h.steps()) {
			return
		}
		if _, ok := certificates.hosts.Covers(h.HostPattern); ok {
			continue
		}
		if f := r.found(h.identity("tls.coversHosts")); f != nil {
			f.Path, f.Reason = h.at.String(), certificates.uncovered(h)
		}
	}
}

// tlsCoverage is what is known of the certificates of an Ingress.
type tlsCoverage struct {
	hosts   *match.HostSet
	unnamed string // ends the sentences when an element of spec.tls names no host
}

// tlsCoverage returns what is known of the certificates of an Ingress, prepared once for all rules.
func (r *report) tlsCoverage(ing *Ingress) *tlsCoverage {
	if r.coverage != nil {
		return r.coverage
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
	r.coverage = c
	return c
}

// uncovered says what is missing for a host.
func (c *tlsCoverage) uncovered(h *ingressHost) string {
	if h.Depth == match.LabelsBelow {
		return h.at.every() + "; no certificate covers that" + strings.Replace(h.at.setOne(), ";", ",", 1)
	}
	reason := text.Quote(h.String()) + " is in no spec.tls[].hosts; add it"
	if parent := match.ParentHost(h.Name); h.Depth == match.HostItself && parent != "" {
		reason += " or " + text.Quote("*."+parent)
	}
	return reason + c.unnamed
}

// allowHTTPAnnotation tells some controllers not to serve plain HTTP beside TLS.
const allowHTTPAnnotation = "kubernetes.io/ingress.allow-http"

// tlsAllowHTTP is tls.allowHTTP: it finds an Ingress whose annotation kubernetes.io/ingress.allow-http is not exactly
// "false": controllers serve plain HTTP when it is absent, and do not agree on other spellings.
type tlsAllowHTTP struct{}

func (tlsAllowHTTP) find(ing *Ingress, r *report) {
	value, set := ing.Annotations[allowHTTPAnnotation]
	if value == "false" {
		return
	}
	found := "is not set"
	if set {
		found = "is " + text.Quote(value)
	}
	// No value: whatever it says instead, the fault is the same.
	r.add(identity{check: "tls.allowHTTP"}, annotationPath(allowHTTPAnnotation),
		found+`; set it to "false", so that plain HTTP is not served`)
}
