package deploy

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/export"
)

// backstopPolicy: the native policies of the backstop, or the files of the API server, are of the policy that the Pods
// are given; each policy judges as it is exported, fails closed, is bound, and judges in the namespaces of the webhook
// whose work it does; and a webhook is not called only where native policies do all that it would.
func backstopPolicy() check {
	return check{
		id: "backstop-policy", severity: Error,
		finds: "native policies of another policy than the ConfigMap has, or changed since, that are not bound, that do " +
			"not deny, or that match other namespaces than the webhooks; files of the API server of another policy; an " +
			"error where a webhook is never called because of them",
		why: "what they let through is let through while no replica answers, or always where no webhook is called; and " +
			"what they deny beyond the policy is denied although the policy allows it",
		fix: "export the policy again, evergate export --target vap,map --policy POLICY, and apply it with the kit's wiring, which " +
			"carries the namespaces to the bindings; kubectl evergate apply renews them with the policy",
		run: func(c *cluster, r *reporter) {
			b := backstopCheck{cluster: c, policies: c.backstop(), report: r.warning}
			if slices.ContainsFunc(c.hooks, func(h *hook) bool { return h.neverCalled() != "" }) {
				b.report = r.error
			}
			if b.compareHashes() {
				b.compareExported()
			}
			b.compareFiles()
			for i := range b.policies {
				b.checkPolicy(&b.policies[i])
			}
			for _, h := range c.hooks {
				if condition := h.neverCalled(); condition != "" {
					b.checkUncalled(r, h, condition)
				}
			}
		},
	}
}

// backstopCheck is the check of one cluster.
type backstopCheck struct {
	*cluster
	policies []nativePolicy
	report   func(at ref, format string, args ...any)
}

// compareHashes compares the policies that were exported with the one in the ConfigMap, and reports whether all are of
// it.
func (b *backstopCheck) compareHashes() bool {
	p, ok := b.policy()
	if !ok || len(b.policies) == 0 {
		return false
	}
	differ := map[string][]string{} // names, by the hash
	var hashes []string
	for i := range b.policies {
		native := &b.policies[i]
		if hash := native.hash(); hash != p.Hash() {
			if differ[hash] == nil {
				hashes = append(hashes, hash)
			}
			differ[hash] = append(differ[hash], native.GetName())
		}
	}
	for _, hash := range hashes {
		b.report(b.ref(b.policies[0].object), "the policy in the ConfigMap is %s, and of another one, %s, are: %s", p.Hash(),
			orNone(hash), some(differ[hash]))
	}
	return len(hashes) == 0
}

// compareExported compares the policies with what the policy is exported as, of which all must be there.
func (b *backstopCheck) compareExported() {
	e, ok := b.exported()
	if !ok {
		return
	}
	if missing := b.missing(&e); len(missing) > 0 {
		b.report(b.ref(b.policies[0].object), "the policy is exported as more than is there, which lacks: %s", some(missing))
	}
	for i := range b.policies {
		p := &b.policies[i]
		if fields := e.differences(p); len(fields) > 0 {
			b.report(b.ref(p.object), "it differs from what this version of evergate exports of the policy, by %s",
				strings.Join(fields, ", "))
		}
	}
}

// exported returns what the policy is exported as: with --deny-unrewritten, unless what is there is nearer to what it
// is without.
func (b *backstopCheck) exported() (exported, bool) {
	denying, ok := b.exportAs(b.policies, true)
	if plain, ok := b.exportAs(b.policies, false); ok && b.deviations(&plain) < b.deviations(&denying) {
		return plain, true
	}
	return denying, ok
}

// deviations returns how many policies are missing of what is exported, or judge otherwise.
func (b *backstopCheck) deviations(e *exported) int {
	n := len(b.missing(e))
	for i := range b.policies {
		n += min(len(e.differences(&b.policies[i])), 1)
	}
	return n
}

// missing returns the names of what is exported and not there.
func (b *backstopCheck) missing(e *exported) []string {
	var there []string
	for i := range b.policies {
		there = append(there, b.policies[i].GetName())
	}
	return without(e.names(), there)
}

// compareFiles compares the policy that files of the API server are of with the one in the ConfigMap.
func (b *backstopCheck) compareFiles() {
	p, ok := b.policy()
	if !ok || b.filesPolicy == "" || b.filesPolicy == p.Hash() {
		return
	}
	at := ref{kind: "ValidatingAdmissionPolicy", name: export.ProbePolicy}
	b.report(at, "the policy in the ConfigMap is %s, and the files of the API server are of %s", p.Hash(), b.filesPolicy)
}

// orNone stands for a hash that is not known.
func orNone(hash string) string {
	if hash == "" {
		return "of which no annotation " + export.HashAnnotation + " says the hash"
	}
	return hash
}

// without returns the names of a list that are not in another.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// checkPolicy looks at one policy and its bindings.
func (b *backstopCheck) checkPolicy(p *nativePolicy) {
	at := b.ref(p.object)
	if p.failsOpen {
		b.report(at, "its failurePolicy is Ignore: an object that costs more than the API server's budget is let through")
	}
	if fields := leavesOut(p.constraints, false); len(fields) > 0 {
		b.report(at, "it leaves objects out that the webhook does not, by %s", strings.Join(fields, " and "))
	}
	switch {
	case len(p.bindings) == 0:
		b.report(at, "it has no binding, so that it does nothing")
	case !p.bound():
		b.report(at, "no binding of it denies")
	}
	h := b.webhookOf(p)
	for i := range p.bindings {
		binding := &p.bindings[i]
		at := b.ref(binding.object)
		if fields := leavesOut(binding.matches, true); len(fields) > 0 {
			b.report(at, "it leaves objects out that the webhook does not, by %s", strings.Join(fields, " and "))
		}
		if h == nil {
			continue
		}
		if got, want := canonical(binding.namespaceSelector()), canonical(h.NamespaceSelector); got != want {
			b.report(at, "it matches other namespaces than the webhook %s: %s, and not %s", h.Name, orAll(got), orAll(want))
		}
	}
}

// orAll stands for a selector without requirements.
func orAll(selector string) string {
	if selector == "" {
		return "all of them"
	}
	return selector
}

// checkUncalled looks at a webhook that is never called: native policies do all that it would, and are there.
func (b *backstopCheck) checkUncalled(r *reporter, h *hook, condition string) {
	i := slices.IndexFunc(export.Webhooks(), func(w export.Webhook) bool { return w.Path == h.path() })
	switch {
	case i < 0:
		r.error(h.ref, "its matchCondition %s is never true, so that it is never called, and no native policy does its work",
			condition)
		return
	case len(b.policies) == 0 && b.filesPolicy == "":
		r.warning(h.ref, "its matchCondition %s is never true, so that it is never called, and no native policy is in the "+
			"input, nor what files of the API server say: deploy/collect.sh asks them", condition)
		return
	}
	e, ok := b.exported()
	if len(b.policies) == 0 { // the files are all of what is exported
		e, ok = b.exportAs([]nativePolicy{{mutates: true}}, true)
	}
	if !ok || len(e.document.Entries) == 0 {
		return
	}
	uses := export.WebhookUses(e.document, e.options)
	if why := uses[i].Called; why != "" {
		r.error(h.ref, "its matchCondition %s is never true, so that it is never called, and it has to be: %s", condition,
			why)
		return
	}
	if len(b.policies) > 0 {
		b.checkReplaced(r, h, condition, wantedOf(&e, uses[i]))
	}
}

// wantedOf returns the names of the policies that do the work of a webhook.
func wantedOf(e *exported, use export.WebhookUse) []string {
	return slices.DeleteFunc(e.names(), func(name string) bool {
		return name != use.PolicyPrefix() && !strings.HasPrefix(name, use.PolicyPrefix()+"-")
	})
}

// checkReplaced looks at whether policies are there, and bound, that do the work of a webhook which is never called.
func (b *backstopCheck) checkReplaced(r *reporter, h *hook, condition string, wanted []string) {
	var bound []string
	for j := range b.policies {
		if p := &b.policies[j]; p.bound() {
			bound = append(bound, p.GetName())
		}
	}
	if missing := without(wanted, bound); len(missing) > 0 {
		r.error(h.ref, "its matchCondition %s is never true, so that it is never called, and what would do its work is not "+
			"there, or not bound: %s", condition, some(missing))
	}
}
