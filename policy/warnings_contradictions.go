package policy

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// checkContradictions warns about contradictory fields in an entry that do not let any object pass.
func (w *entryWarnings) checkContradictions(b *blocks, t *mirror.Table) {
	for i := range b.Pods {
		w.checkImages(&b.Pods[i], t)
	}
	for i := range b.Ingresses {
		w.checkIngresses(&b.Ingresses[i])
	}
	for i := range b.Services {
		w.checkServices(&b.Services[i])
	}
	for i := range b.Routes {
		w.checkRoutes(&b.Routes[i])
	}
	for i := range b.Gateways {
		e := &b.Gateways[i]
		w.checkFieldHosts(&e.Header, e.Hosts, "no Gateway passes")
		w.checkAnnotations(&e.Header, e.Annotations)
	}
	for i := range b.DNSEndpoints {
		if e := &b.DNSEndpoints[i]; e.Hosts != nil {
			w.checkHosts(&e.Header, e.Hosts)
		}
	}
}

// checkImages warns about allowed images whose tag is denied, and about a rule that requires a mirror but denies all
// mirrors.
func (w *entryWarnings) checkImages(e *images.PodsEntry, t *mirror.Table) {
	rule := &e.Images
	for _, p := range rule.Allowed {
		tag, isTag := strings.CutPrefix(p.Version, ":")
		tag, _, _ = strings.Cut(tag, "@")
		if g, denied := match.FirstGlob(rule.DeniedTags, tag); isTag && denied {
			w.warn(&e.Header, "images.allowed has %s, and images.deniedTags denies its tag, by %s: it does not pass", p, g)
		}
	}
	if rule.From == nil || rule.Denied == nil {
		return
	}
	places, denied := t.Places(), match.NewImageSet(rule.Denied)
	if slices.ContainsFunc(places, func(place string) bool { _, ok := denied.FindPlace(place); return !ok }) {
		return
	}
	if len(places) > 0 {
		w.warn(&e.Header, "images.denied covers all mirrors, and images.from demands one: no image passes")
	}
}

// checkIngresses warns about a field that is required but does not allow any value.
func (w *entryWarnings) checkIngresses(e *ingressesEntry) {
	w.checkFieldHosts(&e.Header, e.Hosts, "no Ingress passes")
	if c := e.ClassNames; c != nil && c.Required && c.Allowed != nil && len(c.Allowed) == 0 {
		w.warn(&e.Header, "classNames is required, and allowed: [] lets no value pass: no Ingress passes")
	}
	if e.Paths != nil {
		w.checkDeniedPaths(&e.Header, e.Paths.Denied)
	}
	w.checkAnnotations(&e.Header, e.Annotations)
}

// checkFieldHosts warns about hosts that are required although no host is allowed, and about what checkHosts finds. so
// is the consequence.
func (w *entryWarnings) checkFieldHosts(h *rule.Header, hosts *claim.FieldHostRules, so string) {
	if hosts == nil {
		return
	}
	if hosts.Required && hosts.Allowed != nil && len(hosts.Allowed) == 0 {
		w.warn(h, "hosts is required, and allowed: [] lets no value pass: %s", so)
	}
	w.checkHosts(h, &hosts.HostRules)
}

// checkServices warns about an entry that denies all types.
func (w *entryWarnings) checkServices(e *servicesEntry) {
	all := []serviceType{clusterIP, nodePort, loadBalancer, externalName}
	missing := func(t serviceType) bool { return !slices.Contains(e.Types.Denied, t) }
	if e.Types != nil && !slices.ContainsFunc(all, missing) {
		w.warn(&e.Header, "types.denied has all types: no Service passes; if that is meant, write types: {allowed: []}")
	}
	if e.Hosts != nil {
		w.checkHosts(&e.Header, e.Hosts)
	}
	if e.Annotations != nil {
		w.checkAnnotations(&e.Header, &e.Annotations.annotationRules)
	}
}

// checkRoutes warns about contradictions in a routes entry. It does not warn about wildcards, because routes do not
// choose the targets of their DNS records.
func (w *entryWarnings) checkRoutes(e *routesEntry) {
	if h := e.Hosts; h != nil {
		shared := h.FieldHostRules
		shared.Wildcards = true
		w.checkFieldHosts(&e.Header, &shared, "no HTTPRoute, GRPCRoute or TLSRoute passes")
	}
	if e.Paths != nil {
		w.checkDeniedPaths(&e.Header, e.Paths.Denied)
	}
	w.checkAnnotations(&e.Header, e.Annotations)
}

// checkHosts warns about hosts of other namespaces or teams that an entry lets tenants use. Objects of its kind choose
// the targets of their DNS records. A record for *.x also answers for _acme-challenge.x, which proves to certificate
// authorities that its author may have certificates for x. checkHosts warns about **.x if x is not allowed, unless the
// entry denies wildcards, or a host below x, which *.x covers.
func (w *entryWarnings) checkHosts(h *rule.Header, hosts *claim.HostRules) {
	w.checkSharedHosts(h, hosts.Allowed)
	if hosts.Wildcards {
		return
	}
	allowed, denied := match.NewHostTemplates(hosts.Allowed).Patterns(), match.NewHostOverlaps(hosts.Denied)
	for _, t := range hosts.Allowed {
		p := t.Widest()
		if t.HasPlaceholder() || p.Depth != match.LabelsBelow || p.IsEvery() {
			continue
		}
		_, both := allowed.Covers(match.HostPattern{Name: p.Name})
		if _, how := denied.Find(p); !both && how == match.NoOverlap {
			w.warn(h, "hosts.allowed has %s but not %s: a DNS record for *.%[2]s also answers for _acme-challenge.%[2]s, "+
				"so its author can get certificates for %[2]s; write wildcards: deny, or allow %[2]s too", p, p.Name)
		}
	}
}

// checkSharedHosts warns about each template of hosts.allowed that lets a namespace use hosts that belong to another
// namespace by an earlier template.
func (w *entryWarnings) checkSharedHosts(h *rule.Header, allowed []match.HostTemplate) {
	templates := slices.DeleteFunc(slices.Clone(allowed), not(match.HostTemplate.HasPlaceholder))
	for i, t := range templates {
		for _, before := range templates[:i] {
			if w.remaining--; w.remaining < 0 {
				return
			}
			if namespace, ok := before.Shares(t); ok {
				w.warn(h, "hosts.allowed has %s and %s: by one of them the namespace %s can use hosts that other namespaces "+
					"can use by the other; put {namespace} before the same number of labels", before, t, namespace)
				break
			}
		}
	}
}

// checkAnnotations warns about keys that consist only of a prefix, and about values that one field requires and another
// field denies with the same regular expression.
func (w *entryWarnings) checkAnnotations(h *rule.Header, rules *annotationRules) {
	w.checkAnnotationKeys(h, rules)
	if rules == nil || len(rules.DeniedValues) == 0 {
		return
	}
	denied := map[string][]match.Glob{}
	for i := range rules.DeniedValues {
		v := &rules.DeniedValues[i]
		denied[v.Value.String()] = append(denied[v.Value.String()], v.Key)
	}
	for i := range rules.Values {
		v := &rules.Values[i]
		if slices.Contains(denied[v.Value.String()], v.Key) {
			w.warn(h, "annotations.values and annotations.deniedValues have the same expression for %s: no value passes",
				text.Truncate(string(v.Key), object.MaxAnnotationKey))
		}
	}
	for i := range rules.Required {
		r := &rules.Required[i]
		if r.Value != nil && w.excludes(denied[r.Value.String()], match.Glob(r.Key)) {
			w.warn(h, "annotations.required and annotations.deniedValues have the same expression for %s: no object passes",
				text.Truncate(string(r.Key), object.MaxAnnotationKey))
		}
	}
}
