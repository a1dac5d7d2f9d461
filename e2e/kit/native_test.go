package kit

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// native is the overlay without a server and webhooks.
const native = "kustomize/overlays/native"

// TestNativeHasNoServer checks that the overlay contains the native policies, the audit, the Role of the plugin and the
// policy, and nothing that calls or runs a server. The component has the same effect in an overlay with a server. It
// also leaves out the Job of the component preflight, which connects to the server.
func TestNativeHasNoServer(t *testing.T) {
	for name, overlay := range map[string]string{
		"the overlay": "resources: [../../" + native + "]",
		"the component": "resources: [../../" + exampleBackstop + "]\ncomponents: [../../kustomize/components/audit, " +
			"../../kustomize/components/preflight, ../../kustomize/components/native]",
		"every component for the server": "resources: [../../" + exampleBackstop + "]\ncomponents: [" +
			"../../kustomize/components/audit, ../../kustomize/components/autoscaling, " +
			"../../kustomize/components/prometheus, ../../kustomize/components/jaeger, " +
			"../../kustomize/components/client-certificate, ../../kustomize/components/native]",
		"a collector": "resources: [../../" + exampleBackstop + "]\ncomponents: [../../kustomize/components/audit, " +
			"../../kustomize/components/collector, ../../kustomize/components/native]",
	} {
		t.Run(name, func(t *testing.T) {
			k := read(t)
			var got []string
			for _, o := range objects(t, k.render(t, k.add(t, overlay))) {
				if o.GetName() == "evergate-preflight" {
					t.Errorf("it contains the %s evergate-preflight", o.GetKind())
				}
				if kind := o.GetKind(); !strings.HasPrefix(kind, "ValidatingAdmission") && kind != "ClusterRole" {
					got = append(got, kind+" "+o.GetName())
				}
			}
			slices.Sort(got)
			want := []string{
				"ClusterRoleBinding evergate-audit", "ConfigMap evergate-policy", "CronJob evergate-audit",
				"MutatingAdmissionPolicy evergate-mirrors", "MutatingAdmissionPolicyBinding evergate-mirrors",
				"Namespace evergate-system", "Role evergate-plugin", "ServiceAccount evergate-audit",
			}
			equal(t, want, got)
		})
	}
}

// TestMoveToNative checks that the runbook deletes every object that the component native leaves out, because applying
// the overlay again does not delete it.
func TestMoveToNative(t *testing.T) {
	page := string(readFile(t, filepath.Join(runbooks, "native-only.md")))
	_, section, _ := strings.Cut(page, "\n## Move from webhooks to native policies\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section = strings.ReplaceAll(section, "\\\n", " ")
	deleted := map[string]bool{}
	for _, arguments := range regexp.MustCompile(`(?m)^ *kubectl .*\bdelete (.*)$`).FindAllStringSubmatch(section, -1) {
		var kinds string // of the names after them
		for argument := range strings.FieldsSeq(arguments[1]) {
			kind, name, both := strings.Cut(argument, "/")
			switch {
			case strings.HasPrefix(argument, "--"):
			case both:
				deleted[kind+" "+name] = true
			case kinds == "":
				kinds = argument
			default:
				for kind := range strings.SplitSeq(kinds, ",") {
					deleted[kind+" "+argument] = true
				}
			}
		}
	}
	for _, traces := range []string{"jaeger", "jaeger-v1", "collector"} {
		overlay := "resources: [../../" + exampleBackstop + "]\ncomponents:\n"
		for _, component := range []string{
			"audit", "autoscaling", "client-certificate", "host-kinds", "preflight", "prometheus", traces,
		} {
			overlay += "- ../../kustomize/components/" + component + "\n"
		}
		k := read(t)
		stays := map[string]bool{}
		for _, o := range objects(t, k.render(t, k.add(t, overlay+"- ../../kustomize/components/native\n"))) {
			stays[o.GetKind()+" "+o.GetName()] = true
		}
		for _, o := range objects(t, k.render(t, k.add(t, overlay))) {
			object := o.GetKind() + " " + o.GetName()
			if !stays[object] && !deleted[strings.ToLower(object)] {
				t.Errorf("with the component %s, native-only.md does not delete the %s", traces, object)
			}
		}
	}
}

// TestNativeFollows checks that the bindings and the audit use the settings of an overlay, although the objects that
// usually contain these settings are left out.
func TestNativeFollows(t *testing.T) {
	k := read(t)
	out := k.render(t, k.add(t, `
namespace: another-name
resources: [../../`+native+`]
components: [../../kustomize/components/match-all-namespaces]
images: [{name: ghcr.io/evergate/evergate, newName: mirror.corp.example/evergate}]
patches:
- target: {kind: ExemptNamespaces}
  patch: |-
    - {op: add, path: /names/-, value: another-one}
transformers: [../../kustomize/wiring]`))
	webhooks, bindings := namespacesOf(t, out)
	if len(webhooks) > 0 || len(bindings) != 7 {
		t.Errorf("%d webhooks, and %d bindings", len(webhooks), len(bindings))
	}
	for name, selector := range bindings {
		label, names := selector.MatchExpressions[0], selector.MatchExpressions[1].Values
		if label.Key != optIn || label.Operator != metav1.LabelSelectorOpNotIn {
			t.Errorf("%s selects namespaces by %v", name, label)
		}
		if names[0] != "another-name" || !slices.Contains(names, "another-one") || !slices.Contains(names, "openebs") {
			t.Errorf("%s excludes %v", name, names)
		}
	}
	if !strings.Contains(string(out), "image: mirror.corp.example/evergate:v0.1.0\n") {
		t.Error("the audit has a different image")
	}
}
