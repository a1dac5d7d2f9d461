package deploy

import (
	"path"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/policy"
)

// needs inspects whether the API server calls the webhooks that the policy needs, and no others. An input without the
// policy is checked only for both kinds of webhooks, because the component no-pods accepts that one is missing. An
// input without a Deployment is only a part of an installation.
func (i *inspection) needs() {
	var mutates, validates bool
	for _, h := range i.Hooks {
		mutates, validates = mutates || h.Mutating, validates || !h.Mutating
		if i.Policy != nil && h.Path == pathMutatePodsAgain {
			i.comparePrefixes(h, i.Policy.MirrorPlaces())
		}
	}
	if len(i.Hooks) == 0 || len(i.Servers) == 0 {
		return
	}
	at, known := i.Servers[0].Ref, i.KnowsHooks()
	i.at("missing-webhook", i.Hooks[0].Ref.In("")).warn(i.Policy == nil && known && !mutates,
		"no MutatingWebhookConfiguration of Evergate exists: no image is rewritten")
	i.at("missing-webhook", at).warn(i.Policy == nil && known && !validates,
		"no ValidatingWebhookConfiguration of Evergate calls it: no object is checked")
	if i.Policy == nil {
		return
	}
	for _, m := range MissingWebhooks(i.Document, i.Calls) {
		id, of := "missing-webhook", ""
		if m.Set != "" {
			id, of = "rule-set-webhook", " of the rule set "+m.Set
		}
		i.at(id, at).error(known, "its policy has entries in %s%s, and no webhook calls %s", m.Block, of, oneOf(m.Paths))
	}
	for _, h := range i.Hooks {
		w, set := admission.ParsePath(h.Path)
		i.at("rule-set-webhook", h.Ref).error(w != nil && set != "" && i.Policy.In(set, w.Blocks...) == nil, "no entry of "+
			"the policy is in the rule set of its path, %s; rule sets of the policy: %s", h.Path, some(i.Policy.Sets()))
	}
	i.unneeded()
	i.templates()
}

// unneeded reports groups of webhooks that no entry of the policy needs. It reports only groups with all their
// webhooks.
func (i *inspection) unneeded() {
	needed := map[string]bool{}
	for block, n := range i.Policy.Counts().All() {
		needed[block] = n > 0
	}
	for _, g := range webhookGroups() {
		unneeded := !slices.ContainsFunc(g.paths, func(path string) bool {
			w, _ := admission.ParsePath(path)
			return !i.Calls(path) || slices.ContainsFunc(w.Blocks, func(block string) bool { return needed[block] })
		})
		for _, h := range i.Hooks {
			i.at("unneeded-webhook", h.Ref).add(unneeded && slices.Contains(g.paths, h.Path), Info,
				"the policy has no entries for %s: %s", g.name, g.off)
		}
	}
}

// comparePrefixes compares the prefixes in the matchCondition of the retry webhook with the mirrors of the policy. Each
// prefix has to end with a slash and have a mirror, and each mirror has to be under a prefix.
func (i *inspection) comparePrefixes(h *install.Hook, places []string) {
	f := i.at("retry-webhook-prefixes", h.Ref)
	prefixes, ok := prefixesOf(h)
	f.warn(!ok, `no list of prefixes was found in its matchConditions: ["mirror.example/"].exists(p, ….startsWith(p))`)
	for _, prefix := range prefixes {
		below := func(place string) bool { return strings.HasPrefix(place+"/", prefix) }
		ends := strings.HasSuffix(prefix, "/")
		f.warn(!ends, "the prefix %s does not end with a slash, so it covers other registries too", prefix)
		f.warn(ends && !slices.ContainsFunc(places, below), "no mirror of the policy is under the prefix %s", prefix)
	}
	for _, place := range places {
		covers := func(prefix string) bool { return strings.HasPrefix(place+"/", strings.TrimSuffix(prefix, "/")+"/") }
		f.warn(ok && !slices.ContainsFunc(prefixes, covers), "the mirror %s is not under any of its prefixes", place)
	}
}

// Both patterns match CEL as people usually write it, not all of CEL.
var (
	stringList = regexp.MustCompile(`\[([^\[\]]*)\]\s*\.exists\(\s*(\w+)\s*,`)
	celString  = regexp.MustCompile(`"([^"]*)"|'([^']*)'`)
)

// prefixesOf returns the list of strings that a matchCondition compares with the start of an image: "a/" and "b/" in
// ["a/", "b/"].exists(p, image.startsWith(p)). ok is false if no matchCondition has such a list.
func prefixesOf(h *install.Hook) (prefixes []string, ok bool) {
	for _, m := range h.MatchConditions {
		for _, match := range stringList.FindAllStringSubmatch(m.Expression, -1) {
			if strings.Contains(m.Expression, "startsWith("+match[2]+")") {
				prefixes, ok = append(prefixes, celStrings(match[1])...), true
			}
		}
	}
	return prefixes, ok
}

// celStrings returns the strings in a CEL expression.
func celStrings(expression string) []string {
	var all []string
	for _, s := range celString.FindAllStringSubmatch(expression, -1) {
		all = append(all, s[1]+s[2])
	}
	return all
}

// evaluated lists the resources that Evergate evaluates. It does not evaluate deletions, or subresources without images
// and annotations.
func evaluated() []string {
	var all []string
	for _, k := range admission.Kinds() {
		for _, subresource := range append([]string{""}, k.Subresources...) {
			all = append(all, k.Resource.Unversioned(subresource))
		}
	}
	return all
}

// unmatched lists the writes that Evergate evaluates at a path and that no rule of a webhook for this path matches. If
// a subresource has a separate path, Evergate evaluates it only there. The path of a rule set evaluates the same writes
// as the path of its kind.
func (i *inspection) unmatched(at string) []string {
	of, missing := at, []string(nil)
	if w, set := admission.ParsePath(at); set != "" {
		of = w.Path
	}
	for _, w := range admission.Webhooks() {
		if slices.Contains(w.Subresources, path.Base(w.Path)) {
			continue // a subresource of another path
		}
		for n, sub := range append([]string{"", ""}, w.Subresources...) {
			own, op := w.Path, admissionv1.Update
			if sub != "" && slices.Contains(servedPaths(false), own+"/"+sub) {
				own += "/" + sub
			}
			if n == 0 {
				op = admissionv1.Create
			}
			for _, k := range w.Kinds {
				write := install.Write{
					Operation: op, Group: k.Resource.Group, Version: k.Resource.Version, Name: k.Resource.Name, Sub: sub,
				}
				reviewed := own == of && (sub == "" || slices.Contains(w.SubresourcesOf(k), sub))
				if reviewed && !i.matches(write, func(h *install.Hook) bool { return h.Path == at }) {
					missing = append(missing, write.String())
				}
			}
		}
	}
	return missing
}

// matches reports whether a rule of one of the webhooks matches a write.
func (i *inspection) matches(w install.Write, of func(*install.Hook) bool) bool {
	return slices.ContainsFunc(i.Hooks, func(h *install.Hook) bool {
		return of(h) && slices.ContainsFunc(h.Rules, w.MatchedBy)
	})
}

// webhookGroup is a group of webhooks that a component of the manifests and a value of the Helm chart switch.
type webhookGroup struct {
	name    string
	off, on string // how to switch the group off and on
	paths   []string
}

func webhookGroups() []webhookGroup {
	group := func(name, component, value string, paths ...string) webhookGroup {
		off, on := "add the component "+component, "remove the component "+component
		if component == "host-kinds" {
			off, on = "leave the component host-kinds out", "add the component host-kinds"
		}
		return webhookGroup{name, off, on + " or set the chart value webhooks." + value + " to true", paths}
	}
	return []webhookGroup{
		group("Pods and mirrors", "no-pods", "pods", "/mutate/pods", "/validate/pods"),
		group("Ingresses and Services", "no-ingresses", "ingressesAndServices", "/validate/ingresses",
			"/validate/services"),
		group("Gateway API", "no-gateway-api", "gatewayAPI", "/validate/routes", "/validate/gateways", "/validate/grants"),
		group("OpenShift Routes", "no-openshift-routes", "openshiftRoutes", "/validate/openshiftroutes"),
		group("add-ons", "host-kinds", "addOns", "/validate/certificates", "/validate/dnsendpoints"),
	}
}

// MissingWebhook is a block of a policy with entries that need a webhook that does not exist.
type MissingWebhook struct {
	Block, Set string // Set is the rule set of the entries, or ""
	Entries    []policy.Entry
	// Paths are the paths that evaluate the entries, or rewrite by them. No webhook calls any of them.
	Paths []string
}

// MissingWebhooks returns the entries of a policy for which no webhook calls a path that evaluates them. Entries for
// different kinds of routes and in different rule sets are separate results. It leaves out entries that are off. called
// reports whether a webhook calls a path.
func MissingWebhooks(doc policy.Document, called func(path string) bool) []MissingWebhook {
	var all []MissingWebhook
	for _, e := range doc.Entries {
		match, _ := e.Fields["match"].(policy.Fields)
		set, _ := match["set"].(string)
		paths := pathsOfEntry(&e, set)
		if e.Mode == policy.Off || len(paths) == 0 || slices.ContainsFunc(paths, called) {
			continue
		}
		at := slices.IndexFunc(all, func(m MissingWebhook) bool {
			return m.Block == e.Block && slices.Equal(m.Paths, paths)
		})
		if at < 0 {
			at, all = len(all), append(all, MissingWebhook{Block: e.Block, Set: set, Paths: paths})
		}
		all[at].Entries = append(all[at].Entries, e)
	}
	return all
}

// Groups returns the names of the groups of webhooks that evaluate the entries, and how to switch a group on.
func (m *MissingWebhook) Groups() (names, on string) {
	var named, fixes []string
	for _, g := range webhookGroups() {
		if slices.ContainsFunc(g.paths, func(path string) bool { return slices.Contains(m.Paths, path) }) {
			named, fixes = append(named, g.name), append(fixes, g.on)
		}
	}
	return strings.Join(named, " and for "), strings.Join(fixes, ", or ")
}

// pathsOfEntry lists the paths that evaluate, or rewrite by, an entry in a rule set. It returns nil for exceptions.
func pathsOfEntry(e *policy.Entry, set string) []string {
	kinds, _ := e.Fields["kinds"].([]any) // only routes have this field
	var paths []string
	for _, w := range admission.Webhooks() {
		path := w.Path
		if set != "" {
			path = w.SetPath(set)
		}
		applies := len(kinds) == 0
		for _, k := range w.Kinds {
			applies = applies || slices.Contains(kinds, any(k.Name))
		}
		if applies && path != "" && slices.Contains(w.Blocks, e.Block) {
			paths = append(paths, path)
		}
	}
	return paths
}
