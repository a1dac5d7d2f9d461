package policy

import (
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// entryWarnings are warnings about entries that load but do not match any object, or do not let any object pass.
type entryWarnings struct {
	errs      strict.Collector
	known     *claim.Annotations
	remaining int // the number of pattern comparisons that are left of rule.MaxCompared
}

// warnings returns warnings about the policy's entries, in the same order.
func (b *blocks) warnings(t *mirror.Table, known *claim.Annotations) strict.Errors {
	w := entryWarnings{known: known, remaining: rule.MaxCompared}
	for h := range b.headers {
		w.checkReach(h)
	}
	for i := range b.Mirrors {
		w.checkSources(&b.Mirrors[i])
	}
	for i := range b.Pods {
		if e := &b.Pods[i]; e.Mode == Enforce {
			w.checkFrom(e, b.Mirrors, t)
			w.checkAllowed(e, t)
		}
	}
	w.checkMinions(b.Ingresses)
	w.checkContradictions(b, t)
	w.checkDisjoint(b)
	w.checkClasses(b.Ingresses)
	return w.errs.Errors()
}

// warn adds a warning about an entry, unless the entry is off or there are rule.MaxWarnings already.
func (w *entryWarnings) warn(h *rule.Header, format string, args ...any) {
	if h.Mode != Off && w.errs.Len() < rule.MaxWarnings {
		w.errs.Errorf(h.Pos, format, args...)
	}
}

// checkReach warns about an entry whose exclude covers its whole match.
func (w *entryWarnings) checkReach(h *rule.Header) {
	if h.PermanentExclude() == nil { // an exclude that ends does not exclude anything later
		return
	}
	for _, dimension := range []struct {
		name    string
		exclude []match.Glob
	}{{"namespaces", h.Exclude.Namespaces}, {"users", h.Exclude.Users}, {"groups", h.Exclude.Groups}} {
		if slices.Contains(dimension.exclude, "*") {
			w.warn(h, "exclude.%s has *: the entry applies to nothing; leave the entry out, or set its mode to off",
				dimension.name)
			return
		}
	}
	if h.Match == nil {
		return
	}
	for _, dimension := range []struct {
		name           string
		match, exclude []match.Glob
	}{
		{"namespaces", h.Match.Namespaces, h.Exclude.Namespaces},
		{"users", h.Match.Users, h.Exclude.Users},
		{"groups", h.Match.Groups, h.Exclude.Groups},
		{"podLabels", h.Match.PodLabelGlobs(), h.Exclude.PodLabelGlobs()},
		{"labels", h.Match.LabelGlobs(), h.Exclude.LabelGlobs()},
		{"loadBalancerClasses", h.Match.LoadBalancerClasses, h.Exclude.LoadBalancerClasses},
	} {
		excluded := func(g match.Glob) bool { return w.excludes(dimension.exclude, g) }
		if len(dimension.match) > 0 && !slices.ContainsFunc(dimension.match, not(excluded)) {
			w.warn(h, "exclude.%s covers all of match.%[1]s: the entry applies to nothing", dimension.name)
			return
		}
	}
}

func not[T any](f func(T) bool) func(T) bool { return func(v T) bool { return !f(v) } }

// excludes reports whether one of the patterns certainly matches every value that g matches.
func (w *entryWarnings) excludes(patterns []match.Glob, g match.Glob) bool {
	for _, p := range patterns {
		if w.remaining--; w.remaining < 0 {
			return false
		}
		if p == g || !g.IsWild() && p.Match(string(g)) {
			return true
		}
	}
	return false
}

// deniedImages yields images.denied of the pods entries that are not off, with the positions of the entries.
func (b *blocks) deniedImages(yield func(strict.Pos, []match.ImagePattern) bool) {
	for i := range b.Pods {
		if e := &b.Pods[i]; e.Mode != Off && !yield(e.Pos, e.Images.Denied) {
			return
		}
	}
}

func (w *entryWarnings) checkSources(e *mirror.Entry) {
	for _, s := range e.ExcludedSources() {
		w.warn(&e.Header, "exclude.images covers the source %s: no image of it is rewritten", s)
	}
}

// checkFrom warns about a rule that requires mirrors if no mirror is in mode enforce, and about each mirror that does
// not rewrite images yet.
func (w *entryWarnings) checkFrom(e *images.PodsEntry, mirrors []mirror.Entry, t *mirror.Table) {
	if e.Images.From == nil {
		return
	}
	if t.StrictestMode() < Enforce {
		w.warn(&e.Header, "images.from denies every image that is not written with the name of a mirror: "+
			"no mirrors entry is in mode enforce, so no image is rewritten")
		return
	}
	passing := match.NewImageSet(e.Images.Allowed)
	if e.Exclude != nil {
		passing = match.NewImageSet(slices.Concat(e.Images.Allowed, e.Exclude.Images))
	}
	for i := range mirrors {
		m := &mirrors[i]
		if w.remaining--; w.remaining < 0 {
			return
		}
		if m.Mode == Off || m.Mode == Enforce || m.Match != nil || m.Qualify {
			continue
		}
		if denied := m.SourcesExcept(passing); len(denied) > 0 {
			w.warn(&e.Header, "images.from denies the images of %s that are not written with the name of their mirror: "+
				"mirrors entry %s is in mode %s, so no image is rewritten", text.List(denied), m.Name, m.Mode)
		}
	}
}

// checkMinions warns about tls in a policy with rules for ingress-nginx if no entry denies the annotation of a minion
// or the class nginx. The annotation satisfies the checks of tls, because F5's controller has the same class name, but
// ingress-nginx ignores it.
func (w *entryWarnings) checkMinions(entries []ingressesEntry) {
	usesIngressNginx := false
	for i := range entries {
		e := &entries[i]
		denies := func(g match.Glob) bool { return g.Match(minionAnnotation) }
		denied := e.Annotations != nil && slices.ContainsFunc(e.Annotations.Denied, denies)
		unused := e.ClassNames != nil && e.ClassNames.Allowed != nil && !match.AnyGlob(e.ClassNames.Allowed, "nginx")
		if e.Mode == Enforce && (denied || unused) {
			return
		}
		usesIngressNginx = usesIngressNginx || e.Mode != Off && e.IngressNginx != nil
	}
	for i := range entries {
		if e := &entries[i]; usesIngressNginx && e.TLS != nil && (e.TLS.Required || e.TLS.CoversHosts) {
			w.warn(&e.Header, "tls allows an Ingress with the annotation %s, which ingress-nginx ignores: "+
				"add it to annotations.denied", minionAnnotation)
		}
	}
}

// checkAllowed warns about places in images.allowed that images.denied covers, and about allowed places that a mirror
// rewrites to a place that is not allowed.
func (w *entryWarnings) checkAllowed(e *images.PodsEntry, t *mirror.Table) {
	allowed, denied := match.NewImageSet(e.Images.Allowed), match.NewImageSet(e.Images.Denied)
	for _, p := range e.Images.Allowed {
		if denied.Covers(p) {
			w.warn(&e.Header, "images.allowed has %s, and images.denied covers it: no image of it passes", p)
			continue
		}
		if e.Images.From != nil {
			continue // images at a mirror pass
		}
		if by, at, ok := t.Rewrites(p); ok && !allowed.Covers(at) {
			w.warn(&e.Header, "images.allowed has %s, and mirrors entry %s rewrites its images to %s, which is not allowed: "+
				"allow %[3]s too, or write from: mirrors", p, by, at)
		}
	}
}
