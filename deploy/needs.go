package deploy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/deploy/install"
)

// needs inspects whether the API server calls the webhooks that the policy needs, and no others. An input without the
// policy is checked only for both kinds of webhooks, because the component no-pods accepts that one is missing. An input
// without a Deployment is only a part of an installation.
func (i *inspection) needs() {
	is := func(mutating bool) func(*install.Hook) bool {
		return func(h *install.Hook) bool { return h.Mutating == mutating }
	}
	switch {
	case len(i.Hooks) == 0 || len(i.Servers) == 0:
	case i.Policy != nil:
		if i.KnowsHooks() {
			for _, m := range MissingWebhooks(i.Document, i.Calls) {
				i.error("missing-webhook", i.Servers[0].Ref, "its policy has entries in %s, and no webhook calls %s", m.Block,
					oneOf(m.Paths))
			}
		}
		i.unneeded()
		i.sets()
		i.templates()
	case !i.KnowsHooks():
	case !slices.ContainsFunc(i.Hooks, is(true)):
		i.warning("missing-webhook", i.Hooks[0].Ref.In(""),
			"no MutatingWebhookConfiguration of Evergate exists: no image is rewritten")
	case !slices.ContainsFunc(i.Hooks, is(false)):
		i.warning("missing-webhook", i.Servers[0].Ref,
			"no ValidatingWebhookConfiguration of Evergate calls it: no object is checked")
	}
	for _, h := range i.Hooks {
		if i.Policy != nil && h.Path == pathMutatePodsAgain {
			i.comparePrefixes(h, i.Policy.MirrorPlaces())
		}
	}
}

// unneeded reports groups of webhooks that no entry of the policy needs. It reports only groups with all their webhooks.
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
			if unneeded && slices.Contains(g.paths, h.Path) {
				i.info("unneeded-webhook", h.Ref, "the policy has no entries for %s: %s", g.name, g.off)
			}
		}
	}
}

// sets inspects whether, for each kind, the rule sets of the policy and the rule sets in the paths of webhooks are the
// same.
func (i *inspection) sets() {
	p := i.Policy
	for _, h := range i.Hooks {
		if w, set := admission.ParsePath(h.Path); w != nil && set != "" && p.In(set, w.Blocks...) == nil {
			has := "no rule set"
			if sets := p.Sets(); len(sets) > 0 {
				has = "the rule sets " + some(sets)
			}
			i.error("rule-set-webhook", h.Ref, "its path contains the rule set %s, and no entry of %s is in this set; the policy "+
				"has %s", set, w.Blocks[0], has)
		}
	}
	for _, set := range p.Sets() {
		for block := range p.Counts().All() {
			var paths []string
			for _, w := range admission.Webhooks() {
				if path := w.SetPath(set); path != "" && slices.Contains(w.Blocks, block) {
					paths = append(paths, path)
				}
			}
			in := p.In(set, block)
			if in == nil || slices.ContainsFunc(paths, i.Calls) || !i.KnowsHooks() {
				continue
			}
			for name, n := range in.Counts().All() {
				if name == block && n > 0 {
					i.error("rule-set-webhook", i.Servers[0].Ref, "its policy has entries in %s of the rule set %s, and no webhook "+
						"calls %s", block, set, oneOf(paths))
				}
			}
		}
	}
}

// comparePrefixes compares the prefixes in the matchCondition of the retry webhook with the mirrors of the policy. Each
// prefix has to end with a slash and have a mirror, and each mirror has to be under a prefix.
func (i *inspection) comparePrefixes(h *install.Hook, places []string) {
	const id = "retry-webhook-prefixes"
	prefixes, ok := prefixesOf(h)
	if !ok {
		i.warning(id, h.Ref,
			`no list of prefixes was found in its matchConditions: ["mirror.example/"].exists(p, ….startsWith(p))`)
		return
	}
	for _, prefix := range prefixes {
		switch {
		case !strings.HasSuffix(prefix, "/"):
			i.warning(id, h.Ref, "the prefix %s does not end with a slash, so it covers other registries too", prefix)
		case !slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(place+"/", prefix) }):
			i.warning(id, h.Ref, "no mirror of the policy is under the prefix %s", prefix)
		}
	}
	for _, place := range places {
		if !slices.ContainsFunc(prefixes, func(prefix string) bool {
			return strings.HasPrefix(place+"/", strings.TrimSuffix(prefix, "/")+"/")
		}) {
			i.warning(id, h.Ref, "the mirror %s is not under any of its prefixes", place)
		}
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
			if !strings.Contains(m.Expression, "startsWith("+match[2]+")") {
				continue
			}
			ok = true
			for _, s := range celString.FindAllStringSubmatch(match[1], -1) {
				prefixes = append(prefixes, s[1]+s[2])
			}
		}
	}
	return prefixes, ok
}
