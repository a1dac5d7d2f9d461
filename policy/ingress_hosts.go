package policy

import (
	"errors"
	"strconv"

	"github.com/evergate/evergate/policy/internal/strict"
)

// hostRules is the field hosts of an ingresses entry. Hosts are compared as DNS compares them; patterns are described
// at hostPattern. An Ingress with only a default backend, and a rule without a host, answer for every host.
type hostRules struct {
	// Required: true means that each rule of an Ingress must name a host, and that there must be a rule.
	Required bool `yaml:"required"`
	// Allowed lists what hosts may be: ["*.apps.example.com"]. A wildcard host passes only if everything that it
	// covers passes, and so does an absent one. [] means that no host passes.
	Allowed []hostPattern `yaml:"allowed"`
	// Denied lists what hosts must not be. A wildcard host, or an absent one, is denied if anything that it covers is.
	Denied []hostPattern `yaml:"denied"`
	// Wildcards: deny means that hosts must be written out; an absent one counts as a wildcard.
	Wildcards denial `yaml:"wildcards"`
	// Max is how many different hosts an Ingress may have.
	Max *int `yaml:"max"`
}

// Validate implements strict.Validator.
func (h *hostRules) Validate() error {
	errs := []error{refuseEmpty("denied", h.Denied)}
	denied := newHostSet(h.Denied)
	for _, p := range h.Allowed {
		if by, ok := denied.covers(p); ok {
			errs = append(errs, strict.Fieldf("allowed", "%s is also denied, by %s: no host can pass by it", p, by))
		}
	}
	if h.Max != nil && *h.Max < 1 {
		errs = append(errs, strict.Fieldf("max", "%d is too few, an Ingress has at least one host: to deny all of them "+
			"write allowed: []", *h.Max))
	}
	if len(h.checks()) == 0 {
		errs = append(errs, errNoCheck("required, allowed, denied, wildcards or max"))
	}
	return errors.Join(errs...)
}

func (h *hostRules) checks() []check[Ingress] {
	if h == nil {
		return nil
	}
	var checks []check[Ingress]
	if h.Required {
		checks = append(checks, hostsRequired{})
	}
	if h.Allowed != nil {
		checks = append(checks, newHostsAllowed(h.Allowed))
	}
	if h.Denied != nil {
		checks = append(checks, newHostsDenied(h.Denied))
	}
	if h.Wildcards {
		checks = append(checks, hostsWildcards{})
	}
	if h.Max != nil {
		checks = append(checks, hostsMax(*h.Max))
	}
	return checks
}

// hosts returns what an Ingress answers for, parsed once for all rules. The i-th stands at placeOfHost(i).
func (r *report) hosts(ing *Ingress) []ingressHost {
	if r.parsedHosts == nil {
		r.parsedHosts = parseHosts(ing)
	}
	return r.parsedHosts
}

// placeOfHost says where the i-th host stands.
func (ing *Ingress) placeOfHost(i int) hostPlace {
	if len(ing.Rules) == 0 {
		return noRules
	}
	return hostPlace(i)
}

// ingressHost is a host of an Ingress.
type ingressHost struct {
	hostPattern
	domain string // what stands behind its first label; empty if that is a star
}

// parseHosts returns the hosts of the rules of an Ingress, or what one without rules answers for.
func parseHosts(ing *Ingress) []ingressHost {
	if len(ing.Rules) == 0 {
		return []ingressHost{{hostPattern: everyHost}}
	}
	hosts := make([]ingressHost, len(ing.Rules))
	last := "" // most hosts lie in the domain of the one before: then it is the same string, which compares at a glance
	for i := range ing.Rules {
		h := ingressHost{hostPattern: parseHost(ing.Rules[i].Host)}
		if h.depth == hostItself {
			if domain := parentHost(h.name); domain != last {
				last = domain
			}
			h.domain = last
		}
		hosts[i] = h
	}
	return hosts
}

// hostPlace is the index of a rule in an Ingress.
type hostPlace int

// noRules stands for an Ingress that has only a default backend.
const noRules hostPlace = -1

// String is the field, as users write it.
func (p hostPlace) String() string {
	if p == noRules {
		return "spec.rules"
	}
	return "spec.rules[" + strconv.Itoa(int(p)) + "].host"
}

// noHost begins the sentences about rules, and Ingresses, without a host.
const noHost = "no host is set, which means every host"

// hostFinding is identified by the host.
func hostFinding(check string, at hostPlace, host hostPattern, reason string) Finding {
	return Finding{Check: check, Path: at.String(), Value: host.String(), Reason: reason}
}
