package deploy

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/offline/export"
)

// backstopPolicy checks that the native policies, as objects or in files, were exported from the policy that the Pods
// use. Each native policy has to equal its export, fail closed, be bound, and match the same namespaces as the webhook
// that it replaces. If a webhook is never called, native policies have to replace it completely.
func backstopPolicy() check {
	return check{
		id: "backstop-policy", severity: Error,
		finds: "native policies that were exported from a different policy than the policy in the ConfigMap or before an " +
			"exception in it ended, that were changed later, that do not have a binding, that do not deny, or that match " +
			"different namespaces than the webhooks. Preflight also reports API server files with a different policy. All " +
			"these findings are only warnings if there are webhooks and the API server calls all of them",
		why: "requests that the native policies allow by mistake pass while no replica answers, or always if the " +
			"webhook is never called or does not exist. Native policies can also deny requests that the policy allows",
		fix: "export the policy again with evergate export --target vap,map --policy POLICY, and apply the output " +
			"with kustomize/wiring, which copies the namespaces to the bindings. kubectl evergate apply renews " +
			"native policies together with the policy",
		run: func(c *cluster, r *reporter) {
			b := backstopCheck{cluster: c, policies: c.backstop(), report: r.warning}
			if c.native || slices.ContainsFunc(c.hooks, func(h *hook) bool { return h.neverCalled() != "" }) {
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

// compareHashes compares the policy that native policies were exported from with the policy in the ConfigMap, and
// reports whether they all match.
func (b *backstopCheck) compareHashes() bool {
	p, ok := b.policy()
	if !ok || len(b.policies) == 0 {
		return false
	}
	differ := map[string][]string{} // names by hash
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
		b.report(b.ref(b.policies[0].apiObject), "the policy in the ConfigMap is %s, and these native policies were "+
			"exported from another policy, %s: %s", p.Hash(),
			orNone(hash), some(differ[hash]))
	}
	return len(hashes) == 0
}

// compareExported compares the native policies with the export of the policy. All exported native policies have to
// exist.
func (b *backstopCheck) compareExported() {
	e, ok := b.exported()
	if !ok {
		return
	}
	if missing := b.missing(&e); len(missing) > 0 {
		b.report(b.ref(b.policies[0].apiObject), "the export of the policy has more native policies, and these are "+
			"missing: %s", some(missing))
	}
	for i := range b.policies {
		p := &b.policies[i]
		if fields := e.differences(p); len(fields) > 0 {
			b.report(b.ref(p.apiObject), "it differs from the export of this version of evergate in %s",
				strings.Join(fields, ", "))
		}
	}
}

// exported returns the export of the policy with --deny-unrewritten, unless the existing policies are closer to the
// export without it.
func (b *backstopCheck) exported() (exported, bool) {
	denying, ok := b.exportAs(b.policies, true)
	if plain, ok := b.exportAs(b.policies, false); ok && b.deviations(&plain) < b.deviations(&denying) {
		return plain, true
	}
	return denying, ok
}

// deviations returns how many exported policies are missing or differ.
func (b *backstopCheck) deviations(e *exported) int {
	n := len(b.missing(e))
	for i := range b.policies {
		n += min(len(e.differences(&b.policies[i])), 1)
	}
	return n
}

// missing returns the names of exported policies that do not exist.
func (b *backstopCheck) missing(e *exported) []string {
	var there []string
	for i := range b.policies {
		there = append(there, b.policies[i].GetName())
	}
	return without(e.names(), there)
}

// compareFiles compares the policy that the API server's files were exported from with the policy in the ConfigMap.
func (b *backstopCheck) compareFiles() {
	p, ok := b.policy()
	if !ok || b.filesPolicy == "" || b.filesPolicy == p.Hash() {
		return
	}
	at := ref{kind: "ValidatingAdmissionPolicy", name: export.ProbePolicy}
	b.report(at, "the policy in the ConfigMap is %s, and the API server's files were exported from %s", p.Hash(),
		b.filesPolicy)
}

// orNone returns a hash, or the end of a sentence for a hash that is not known.
func orNone(hash string) string {
	if hash == "" {
		return "whose hash is not in the annotation " + export.HashAnnotation
	}
	return hash
}

// without returns the names of a list that are not in another.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// checkPolicy checks one policy and its bindings.
func (b *backstopCheck) checkPolicy(p *nativePolicy) {
	at := b.ref(p.apiObject)
	if p.failsOpen {
		b.report(at, "its failurePolicy is Ignore: an object that costs more than the API server's budget is allowed")
	}
	if fields := leavesOut(p.constraints, false); len(fields) > 0 {
		b.report(at, "it leaves out objects that the exported policy matches, by %s", strings.Join(fields, " and "))
	}
	switch {
	case len(p.bindings) == 0:
		b.report(at, "it has no binding, so it does nothing")
	case !p.bound():
		b.report(at, "it has no binding that denies")
	}
	h := b.webhookOf(p)
	for i := range p.bindings {
		binding := &p.bindings[i]
		at := b.ref(binding.apiObject)
		if fields := leavesOut(binding.matches, true); len(fields) > 0 {
			b.report(at, "it leaves out objects that the exported policy matches, by %s", strings.Join(fields, " and "))
		}
		if h == nil {
			continue
		}
		if got, want := canonical(binding.namespaceSelector()), canonical(h.NamespaceSelector); got != want {
			b.report(at, "it matches different namespaces than the webhook %s: %s instead of %s", h.Name, orAll(got),
				orAll(want))
		}
	}
}

// orAll returns a selector, or words for a selector without requirements.
func orAll(selector string) string {
	if selector == "" {
		return "all of them"
	}
	return selector
}

// checkUncalled checks that native policies exist that replace a webhook that is never called.
func (b *backstopCheck) checkUncalled(r *reporter, h *hook, condition string) {
	i := slices.IndexFunc(export.Webhooks(), func(w export.Webhook) bool { return w.Path == h.path() })
	switch {
	case i < 0:
		r.error(h.ref, "its matchCondition %s is never true, so it is never called, and no native policy replaces it",
			condition)
		return
	case len(b.policies) == 0 && b.filesPolicy == "":
		r.warning(h.ref, "its matchCondition %s is never true, so it is never called, and the input has neither native "+
			"policies nor the hash of the API server's files: deploy/collect.sh collects both", condition)
		return
	}
	e, ok := b.exported()
	if len(b.policies) == 0 { // the files contain the whole export
		e, ok = b.exportAs([]nativePolicy{{mutates: true}}, true)
	}
	if !ok || len(e.document.Entries) == 0 {
		return
	}
	uses := export.WebhookUses(e.document, e.options)
	if why := uses[i].Called; why != "" {
		r.error(h.ref, "its matchCondition %s is never true, so it is never called, and it has to be called: %s", condition,
			why)
		return
	}
	if len(b.policies) > 0 {
		b.checkReplaced(r, h, condition, wantedOf(&e, uses[i]))
	}
}

// wantedOf returns the names of the exported policies that replace a webhook.
func wantedOf(e *exported, use export.WebhookUse) []string {
	return slices.DeleteFunc(e.names(), func(name string) bool {
		return name != use.PolicyPrefix() && !strings.HasPrefix(name, use.PolicyPrefix()+"-")
	})
}

// checkReplaced reports exported policies that are missing or not bound, although they have to replace a webhook that
// is never called.
func (b *backstopCheck) checkReplaced(r *reporter, h *hook, condition string, wanted []string) {
	var bound []string
	for j := range b.policies {
		if p := &b.policies[j]; p.bound() {
			bound = append(bound, p.GetName())
		}
	}
	if missing := without(wanted, bound); len(missing) > 0 {
		r.error(h.ref, "its matchCondition %s is never true, so it is never called, and the native policies that would "+
			"replace it are missing or not bound: %s", condition, some(missing))
	}
}
