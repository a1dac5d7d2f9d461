package native

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

const (
	tags    = "pods: [{name: tags, mode: enforce, images: {deniedTags: [latest]}}]\n"
	ports   = "services: [{name: types, mode: enforce, types: {denied: [NodePort]}}]\n"
	mirrors = "mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}]\n"
)

func describe(t *testing.T, text string) policy.Document {
	t.Helper()
	doc, err := policy.Describe(policy.File{
		Name: "policy.yaml", Data: []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + text),
	})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// stored returns native policies as a cluster stores them: exported from a policy, with another namespaceSelector.
func stored(t *testing.T, text, hash string, mutates bool) Installed {
	t.Helper()
	o := export.Options{Targets: []export.Target{export.VAP}, Exempt: export.ExemptNamespaces(), Hash: hash}
	if mutates {
		o.Targets = append(o.Targets, export.MAP)
	}
	e, err := newExport(describe(t, text), o)
	must(t, err)
	all := e.objects
	for _, is := range all {
		if is.IsBinding() {
			must(t, unstructured.SetNestedMap(is.Object, map[string]any{"matchLabels": map[string]any{"a": "b"}},
				"spec", "matchResources", "namespaceSelector"))
		}
		is.SetLabels(union(is.GetLabels(), map[string]string{"team": "platform"}))
		is.SetFinalizers([]string{"corp.example/keep"})
	}
	return all
}

// options returns the options for the policy with a hash, on an API server that serves both kinds.
func options(hash string) export.Options {
	return export.Options{
		Targets: []export.Target{export.VAP, export.MAP}, Exempt: export.ExemptNamespaces(), Hash: hash,
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(objects Installed) string {
	var all []string
	for _, o := range objects {
		short := "policy "
		if o.IsBinding() {
			short = "binding "
		}
		all = append(all, short+strings.TrimPrefix(o.GetName(), "evergate-"))
	}
	return strings.Join(all, ", ")
}

// Objects are written in this order: rewriting before denying, and a policy before its binding. Removals come last,
// and bindings are removed first. Metadata from other clients and the namespaces stay.
func TestRenew(t *testing.T) {
	const pods = "policy pods-enforce, binding pods-enforce, policy pods-existing, binding pods-existing"
	for name, test := range map[string]struct {
		was, is          string
		mutates          bool
		applied, removed string
	}{
		"the same": {tags, tags, false,
			pods, ""},
		"another kind": {tags, ports, false,
			"policy services-enforce, binding services-enforce, policy services-existing, binding services-existing",
			"binding pods-enforce, binding pods-existing, policy pods-enforce, policy pods-existing"},
		"nothing rewrote, and now does": {tags, mirrors + tags, true,
			"policy mirrors, binding mirrors, " + pods, ""},
		"rewriting is left to the webhook": {mirrors + tags, mirrors + tags, false,
			pods, ""},
		"nothing is rewritten any more": {mirrors + tags, tags, true,
			pods,
			"binding mirrors, policy mirrors"},
	} {
		t.Run(name, func(t *testing.T) {
			b := stored(t, test.was, "old", test.mutates)
			r, err := b.Renew(describe(t, test.was), describe(t, test.is), options("new"))
			must(t, err)
			if diff := cmp.Diff([]string{test.applied, test.removed}, []string{names(r.Applied), names(r.Removed)}); diff != "" {
				t.Error(diff)
			}
			if r.Done() {
				t.Error("it is already up to date")
			}
			for _, o := range r.Applied {
				if o.GetAnnotations()[export.HashAnnotation] != "new" {
					t.Errorf("%s has the hash of another policy", o.GetName())
				}
				if is := b.find(o.GetKind(), o.GetName()); is != nil && (o.GetLabels()["team"] != "platform" ||
					!slices.Equal(o.GetFinalizers(), []string{"corp.example/keep"})) {
					t.Errorf("%s has lost what another client has set: %v", o.GetName(), o.Object["metadata"])
				}
				if got, _, _ := unstructured.NestedString(o.Object, "spec", "matchResources", "namespaceSelector", "matchLabels",
					"a"); o.IsBinding() && got != "b" {
					t.Errorf("%s matches other namespaces", o.GetName())
				}
			}
		})
	}
}

// A backstop that is up to date is not written again.
func TestDone(t *testing.T) {
	for hash, want := range map[string]bool{"same": true, "other": false} {
		r, err := stored(t, tags, "same", false).Renew(describe(t, tags), describe(t, tags), options(hash))
		must(t, err)
		if r.Done() != want {
			t.Errorf("%s: done %t", hash, r.Done())
		}
	}
}

// A weakened backstop is written again. Defaults from the API server do not weaken it.
func TestWeakened(t *testing.T) {
	set := func(value any, fields ...string) func(*testing.T, map[string]any) {
		return func(t *testing.T, o map[string]any) {
			t.Helper()
			must(t, unstructured.SetNestedField(o, value, append([]string{"spec"}, fields...)...))
		}
	}
	for name, test := range map[string]struct {
		kind   string
		change func(*testing.T, map[string]any)
		done   bool
	}{
		"a binding audits":     {validatingBinding, set([]any{"Audit"}, "validationActions"), false},
		"it validates nothing": {validatingPolicy, set([]any{map[string]any{"expression": "true"}}, "validations"), false},
		"no condition is left": {validatingPolicy, set([]any{}, "matchConditions"), false},
		"it fails open":        {validatingPolicy, set("Ignore", "failurePolicy"), false},
		"it leaves objects out": {validatingPolicy, set(map[string]any{"matchLabels": map[string]any{"a": "b"}},
			"matchConstraints", "objectSelector"), false},
		"it leaves resources out": {validatingBinding, set([]any{map[string]any{}}, "matchResources", "excludeResourceRules"),
			false},
		"an empty selector":  {validatingPolicy, set(map[string]any{}, "matchConstraints", "objectSelector"), true},
		"the default policy": {validatingPolicy, set("Equivalent", "matchConstraints", "matchPolicy"), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := stored(t, tags, "same", false)
			test.change(t, b.find(test.kind, "evergate-pods-enforce").Object)
			r, err := b.Renew(describe(t, tags), describe(t, tags), options("same"))
			must(t, err)
			if r.Done() != test.done {
				t.Errorf("done %t", r.Done())
			}
		})
	}
}

// The counts are about policies. The hashes are the hashes of existing policies.
func TestCounts(t *testing.T) {
	was := stored(t, tags, "old", false)
	r, err := was.Renew(describe(t, tags), describe(t, mirrors+ports), options("new"))
	must(t, err)
	renewed, added, removed := r.Counts()
	if diff := cmp.Diff([]int{0, 3, 2}, []int{renewed, added, removed}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"old"}, was.Hashes()); diff != "" || len(was.Policies()) != 2 {
		t.Errorf("%d policies\n%s", len(was.Policies()), diff)
	}
}
