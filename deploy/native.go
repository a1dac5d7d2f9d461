package deploy

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/offline/native"
)

// nativeID is the ID of findings about native policies.
const nativeID = "backstop-policy"

// native inspects whether the native policies, as objects or in files, equal the export of the policy that the Pods use,
// fail closed, are bound, and match the same namespaces as the webhooks. Where webhooks are never called or do not
// exist, they have to replace them completely.
func (i *inspection) native() {
	severity := Warning
	if len(i.Hooks) == 0 || slices.ContainsFunc(i.Hooks, func(h *install.Hook) bool { return h.NeverCalled() != "" }) {
		severity = Error
	}
	policies := i.Native.Policies()
	var e *native.Export
	if i.Policy != nil {
		hash := i.Policy.Hash()
		var err error
		if e, err = i.Native.Export(i.Document, hash, i.Now); err != nil {
			return // the exported objects are always readable
		}
		if i.FilesPolicy != "" && i.FilesPolicy != hash {
			at := install.Ref{Kind: "ValidatingAdmissionPolicy", Name: export.ProbePolicy}
			i.add(nativeID, severity, at, "the policy in the ConfigMap is %s, and the API server's files were exported from %s",
				hash, i.FilesPolicy)
		}
		if len(policies) > 0 && i.sameHash(policies, severity) {
			if missing := i.Native.Without(e.Names); len(missing) > 0 {
				i.add(nativeID, severity, i.NativeRef(&policies[0]), "the export of the policy has more native policies, and these "+
					"are missing: %s", some(missing))
			}
			for _, p := range policies {
				if fields := e.Differences(&p); len(fields) > 0 {
					i.add(nativeID, severity, i.NativeRef(&p), "it differs from the export of this version of evergate in %s",
						strings.Join(fields, ", "))
				}
			}
		}
		if len(i.Hooks) == 0 {
			i.notEnforced(e)
		}
	}
	for _, p := range policies {
		i.nativePolicy(&p, severity)
	}
	for _, h := range i.Hooks {
		if condition := h.NeverCalled(); condition != "" {
			i.uncalled(h, "its matchCondition "+condition+" is never true, so it is never called, and ", e)
		}
	}
}

// sameHash reports native policies that were exported from another policy, and returns true if there are none.
func (i *inspection) sameHash(policies native.Installed, severity Severity) bool {
	same := true
	for _, hash := range i.Native.Hashes() {
		if hash == i.Policy.Hash() {
			continue
		}
		same = false
		var names []string
		for _, p := range policies {
			if p.Hash() == hash {
				names = append(names, p.GetName())
			}
		}
		if hash == "" {
			hash = "whose hash is not in the annotation " + export.HashAnnotation
		}
		i.add(nativeID, severity, i.NativeRef(&policies[0]), "the policy in the ConfigMap is %s, and these native policies were "+
			"exported from another policy, %s: %s", i.Policy.Hash(), hash, some(names))
	}
	return same
}

// notEnforced reports the entries that native policies do not enforce, or only in part.
func (i *inspection) notEnforced(e *native.Export) {
	var lost []string
	for n := range e.Coverage {
		if c := &e.Coverage[n]; !c.Complete() {
			lost = append(lost, c.Entry.Name)
		}
	}
	if len(lost) > 0 {
		i.warning("missing-webhook", i.Anchor(), "there are no webhooks, and the native policies do not completely enforce these "+
			"entries of the policy: %s", some(lost))
	}
}

// nativePolicy inspects one native policy and its bindings.
func (i *inspection) nativePolicy(p *native.Object, severity Severity) {
	const leavesOut = "it leaves out objects that the exported policy matches, by %s"
	at, bindings := i.NativeRef(p), i.Native.Bindings(p)
	if p.FailsOpen() {
		i.add(nativeID, severity, at, "its failurePolicy is Ignore: an object that costs more than the API server's budget is "+
			"allowed")
	}
	if fields := p.LeavesOut(); len(fields) > 0 {
		i.add(nativeID, severity, at, leavesOut, strings.Join(fields, " and "))
	}
	switch {
	case len(bindings) == 0:
		i.add(nativeID, severity, at, "it has no binding, so it does nothing")
	case !i.Native.Bound(p):
		i.add(nativeID, severity, at, "it has no binding that denies")
	}
	var replaced *install.Hook
	for _, w := range export.Webhooks() {
		for _, h := range i.Hooks {
			if replaced == nil && p.Replaces(&w) && h.Path == w.Path {
				replaced = h
			}
		}
	}
	for _, b := range bindings {
		at := i.NativeRef(&b)
		if fields := b.LeavesOut(); len(fields) > 0 {
			i.add(nativeID, severity, at, leavesOut, strings.Join(fields, " and "))
		}
		if replaced == nil {
			continue
		}
		if got, want := canonical(b.Namespaces()), canonical(replaced.NamespaceSelector); got != want {
			i.add(nativeID, severity, at, "it matches different namespaces than the webhook %s: %s instead of %s", replaced.Name,
				got, want)
		}
	}
}

// uncalled inspects whether native policies replace a webhook that is never called. why is the start of a sentence.
func (i *inspection) uncalled(h *install.Hook, why string, e *native.Export) {
	policies := i.Native.Policies()
	at := slices.IndexFunc(export.Webhooks(), func(w export.Webhook) bool { return w.Path == h.Path })
	switch {
	case at < 0:
		i.error(nativeID, h.Ref, why+"no native policy replaces it")
	case len(policies) == 0 && i.FilesPolicy == "":
		i.warning(nativeID, h.Ref, why+"the input has neither native policies nor the hash of the API server's files: "+
			"deploy/collect.sh collects both")
	case e == nil:
	case e.Uses[at].Called != "":
		i.error(nativeID, h.Ref, why+"it has to be called: %s", e.Uses[at].Called)
	case len(policies) > 0:
		var bound native.Installed
		for _, p := range policies {
			if i.Native.Bound(&p) {
				bound = append(bound, p)
			}
		}
		wanted := install.Filter(e.Names, func(name string) bool {
			prefix := e.Uses[at].PolicyPrefix()
			return name == prefix || strings.HasPrefix(name, prefix+"-")
		})
		if missing := bound.Without(wanted); len(missing) > 0 {
			i.error(nativeID, h.Ref, why+"the native policies that would replace it are missing or not bound: %s", some(missing))
		}
	}
}

// canonical returns a selector in one form: label in (values), sorted.
func canonical(s *metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if s == nil || err != nil || parsed.Empty() {
		return "all of them"
	}
	requirements, _ := parsed.Requirements()
	terms := []string{}
	for _, r := range requirements {
		if r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals {
			if in, err := labels.NewRequirement(r.Key(), selection.In, r.ValuesUnsorted()); err == nil {
				r = *in
			}
		}
		terms = append(terms, r.String())
	}
	slices.Sort(terms)
	return strings.Join(terms, ",")
}
