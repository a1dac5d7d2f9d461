package claim

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// GlobbingClasses is the globbingClasses block of a policy: ["public-alb-*", "!nginx"]. It lists classes of Ingresses,
// * for any run of characters. For *.example in spec.rules[].host, their controllers serve names at any depth. In the
// specification of Ingress, * is one label. It is one label in spec.tls of these Ingresses too, because that is its
// meaning in certificates. The block adds classes to DefaultGlobbingClasses. For a class after !, the controller serves
// one label, whatever the default is. If a class is in the block with and without !, the controller serves any depth.
//
// The class of an Ingress is spec.ingressClassName or the annotation kubernetes.io/ingress.class. If both are set, one
// globbing class is enough. An Ingress without a class does not have a globbing class.
type GlobbingClasses []globbingClass

// DefaultGlobbingClasses returns the classes whose controllers serve names at any depth for *.example in a rule. They
// are the usual names of the classes. Two controllers may have the same class, for example ingress-nginx (one label)
// and F5's NGINX Ingress Controller (any depth). Sources, read in November 2026:
//
//   - alb: aws-load-balancer-controller, docs/guide/ingress/annotations.md, host-header conditions
//   - azure-application-gateway, azure/application-gateway: Microsoft Learn, multiple-site-overview ("*.contoso.com can
//     match with … customer1.b2b.contoso.com")
//   - gce, gce-internal: Compute Engine API v1, HostRule.hosts ("* matches any string of ([a-z0-9-.]*)")
//   - haproxy: HAProxy Technologies, kubernetes-ingress pull request 735. A Service with the annotation route-acl makes
//     the controller compare the end of the host (pkg/route/route.go)
//   - istio: a virtual host of Envoy, whose *.example matches any suffix (Contour v1.33.8 adds a regular expression
//     because of this, internal/dag/ingress_processor.go)
//   - kong: Kong Gateway, kong/router/traditional.lua, which replaces * by .+
//   - nginx: F5 kubernetes-ingress, internal/configs/version1/nginx.ingress.tmpl, server_name, in which "an asterisk
//     can match several name parts" (nginx.org, Server names)
func DefaultGlobbingClasses() []string {
	return []string{
		"alb", "azure-application-gateway", "azure/application-gateway", "gce", "gce-internal", "haproxy", "istio", "kong",
		"nginx",
	}
}

// oneLabelClasses returns classes whose controllers serve one label for *.example in a rule: cilium (Cilium,
// operator/pkg/model/translation, HostNameSuffixMatch is false for Ingresses), contour (Contour v1.33.8,
// internal/dag/ingress_processor.go) and traefik (Traefik v3.7.13, pkg/muxer/muxer.go).
func oneLabelClasses() []string { return []string{"cilium", "contour", "traefik"} }

// globbingClass is a pattern for class names, with or without ! in front.
type globbingClass string

// UnmarshalText returns an error for the empty pattern.
func (c *globbingClass) UnmarshalText(b []byte) error {
	*c = globbingClass(b)
	var g match.Glob
	return g.UnmarshalText([]byte(strings.TrimPrefix(string(b), "!")))
}

// glob returns the pattern without !. not reports whether it had one.
func (c globbingClass) glob() (g match.Glob, not bool) {
	name, not := strings.CutPrefix(string(c), "!")
	return match.Glob(name), not
}

// maxGlobbingClasses is the maximum number of classes. A cluster has one class for each controller, or a few.
const maxGlobbingClasses = 20

// CheckLength returns an error for too many classes.
func (c GlobbingClasses) CheckLength() error {
	if len(c) > maxGlobbingClasses {
		return strict.Fieldf("globbingClasses", "has %d classes; at most %d are read", len(c), maxGlobbingClasses)
	}
	return nil
}

// find reports whether the block lists a class with or without !.
func (c GlobbingClasses) find(class string) (with, without bool) {
	for _, element := range c {
		if g, not := element.glob(); g.Match(class) {
			with, without = with || not, without || !not
		}
	}
	return with, without
}

// areGlobbing reports whether the controllers of one of the classes match *.example with names at any depth. An empty
// text is not a class. areGlobbing returns true if the Effort is exceeded, because the wider claim is the safe answer.
func (k *Annotations) areGlobbing(classes [2]string, r *rule.Recorder) bool {
	if k == nil {
		k = defaultAnnotations()
	}
	for _, class := range classes {
		if class == "" {
			continue
		}
		if !r.Spend(rule.StepsOf(1+len(k.globbing), class)) {
			return true
		}
		oneLabel, globs := k.globbing.find(class)
		if globs || !oneLabel && slices.Contains(DefaultGlobbingClasses(), class) {
			return true
		}
	}
	return false
}

// KnowsClass reports whether the meaning of *.example is known for a pattern of class names, by the block or by
// default. The pattern * is not the name of a class, so it counts as known.
func (k *Annotations) KnowsClass(pattern match.Glob) bool {
	listed := slices.ContainsFunc(k.globbing, func(c globbingClass) bool {
		g, _ := c.glob()
		return g == pattern || g.Match(string(pattern))
	})
	return listed || pattern == "*" || slices.Contains(DefaultGlobbingClasses(), string(pattern)) ||
		slices.Contains(oneLabelClasses(), string(pattern))
}
