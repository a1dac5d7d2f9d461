package deploy

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/offline/native"
)

// native inspects whether the native policies, as objects or in files, equal the export of the policy that the Pods
// use, fail closed, are bound, and match the same namespaces as the webhooks. If a webhook is never called or there are
// no webhooks, native policies have to replace them completely.
func (i *inspection) native() {
	off := func(h *install.Hook) bool { return h.NeverCalled() != "" }
	replaced := len(i.Hooks) == 0 || slices.ContainsFunc(i.Hooks, off)
	report := func(wrong bool, at install.Ref, format string, args ...any) {
		i.at("backstop-policy", at).add(wrong, severityIf(replaced), format, args...)
	}
	var e *native.Export
	if i.Policy != nil {
		var err error
		if e, err = i.Native.Export(i.Document, i.Policy.Hash(), i.Now); err != nil {
			return // the exported objects are always readable
		}
		i.compare(e, report)
	}
	for _, p := range i.Native.Policies() {
		i.nativePolicy(&p, report)
	}
	for _, h := range install.Filter(i.Hooks, off) {
		i.uncalled(h, e)
	}
}

// reportFunc reports a problem with native policies if it is there.
type reportFunc func(wrong bool, at install.Ref, format string, args ...any)

// compare compares the native policies and the API server's files with the export of the policy.
func (i *inspection) compare(e *native.Export, report reportFunc) {
	hash, policies := i.Policy.Hash(), i.Native.Policies()
	probe := install.Ref{Kind: "ValidatingAdmissionPolicy", Name: export.ProbePolicy}
	report(i.FilesPolicy != "" && i.FilesPolicy != hash, probe,
		"the policy in the ConfigMap is %s, and the API server's files were exported from %s", hash, i.FilesPolicy)
	var lost []string
	for n := range e.Coverage {
		if c := &e.Coverage[n]; !c.Complete() {
			lost = append(lost, c.Entry.Name)
		}
	}
	i.at("missing-webhook", i.Anchor()).warn(len(i.Hooks) == 0 && len(lost) > 0, "there are no webhooks, and the native "+
		"policies do not completely enforce these entries of the policy: %s", some(lost))
	if len(policies) == 0 {
		return
	}
	first, same := i.NativeRef(&policies[0]), true
	for _, other := range i.Native.Hashes() {
		var names []string
		for _, p := range policies {
			if p.Hash() == other {
				names = append(names, p.GetName())
			}
		}
		same = same && other == hash
		report(other != hash, first, "the policy in the ConfigMap is %s, and these native policies were exported from "+
			"another policy, %s: %s", hash, cmp.Or(other, "whose hash is not in the annotation "+export.HashAnnotation),
			some(names))
	}
	missing := i.Native.Without(e.Names)
	report(same && len(missing) > 0, first, "the export of the policy has more native policies, and these are missing: %s",
		some(missing))
	for _, p := range policies {
		fields := e.Differences(&p)
		report(same && len(fields) > 0, i.NativeRef(&p), "it differs from the export of this version of evergate in %s",
			strings.Join(fields, ", "))
	}
}

// nativePolicy inspects one native policy and its bindings.
func (i *inspection) nativePolicy(p *native.Object, report reportFunc) {
	at, bindings := i.NativeRef(p), i.Native.Bindings(p)
	report(p.FailsOpen(), at, "its failurePolicy is Ignore: an object over the API server's cost budget is allowed")
	report(len(bindings) == 0, at, "it has no binding, so it does nothing")
	report(len(bindings) > 0 && !i.Native.Bound(p), at, "it has no binding that denies")
	for _, o := range append(native.Installed{*p}, bindings...) {
		fields := o.LeavesOut()
		report(len(fields) > 0, i.NativeRef(&o), "it leaves out objects that the exported policy matches, by %s",
			strings.Join(fields, " and "))
	}
	for _, h := range i.Hooks {
		replaces := func(w export.Webhook) bool { return w.Path == h.Path && p.Replaces(&w) }
		if !slices.ContainsFunc(export.Webhooks(), replaces) {
			continue
		}
		for _, b := range bindings {
			got, want := canonical(b.Namespaces()), canonical(h.NamespaceSelector)
			report(got != want, i.NativeRef(&b), "it matches different namespaces than the webhook %s: %s instead of %s", h.Name,
				got, want)
		}
		return // the other webhooks have the same selector
	}
}

// uncalled inspects whether native policies replace a webhook that is never called.
func (i *inspection) uncalled(h *install.Hook, e *native.Export) {
	why := "its matchCondition " + h.NeverCalled() + " is never true, so it is never called, and "
	policies := i.Native.Policies()
	f := i.at("backstop-policy", h.Ref)
	at := slices.IndexFunc(export.Webhooks(), func(w export.Webhook) bool { return w.Path == h.Path })
	switch {
	case at < 0:
		f.error(true, why+"no native policy replaces it")
	case len(policies) == 0 && i.FilesPolicy == "":
		f.warn(true, why+"the input has neither native policies nor the hash of the API server's files: "+
			"deploy/collect.sh collects both")
	case e == nil:
	case e.Uses[at].Called != "":
		f.error(true, why+"it has to be called: %s", e.Uses[at].Called)
	case len(policies) > 0:
		bound := install.Filter(policies, func(p native.Object) bool { return i.Native.Bound(&p) })
		missing := install.Filter(native.Installed(bound).Without(e.Names), func(name string) bool {
			prefix := e.Uses[at].PolicyPrefix()
			return name == prefix || strings.HasPrefix(name, prefix+"-")
		})
		f.error(len(missing) > 0, why+"the native policies that would replace it are missing or not bound: %s", some(missing))
	}
}

// canonical returns a selector in one form, with expressions for labels, sorted.
func canonical(s *metav1.LabelSelector) string {
	if install.SelectsAll(s) {
		return "all of them"
	}
	var all []string
	for key, value := range s.MatchLabels {
		all = append(all, key+" in ("+value+")")
	}
	for n := range s.MatchExpressions {
		all = append(all, metav1.FormatLabelSelector(&metav1.LabelSelector{MatchExpressions: s.MatchExpressions[n : n+1]}))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
