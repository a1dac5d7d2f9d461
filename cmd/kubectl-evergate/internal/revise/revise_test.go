package revise

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/policy"
)

func configMap(change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "evergate-policy"}}
	change(cm)
	return cm
}

func TestManagedBy(t *testing.T) {
	const end = ": it would undo the change; change the policy in its repository"
	managed := func(manager string) func(*corev1.ConfigMap) {
		return func(cm *corev1.ConfigMap) { cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager}} }
	}
	for name, test := range map[string]struct {
		change func(*corev1.ConfigMap)
		want   string
	}{
		"kubectl": {managed("kubectl-create"), ""},
		"Helm's label, which Argo CD may set as well": {
			func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"app.kubernetes.io/instance": "evergate"} }, "",
		},
		"Argo CD": {managed("argocd-controller"), "managed by Argo CD (field manager argocd-controller)"},
		"Argo CD's annotation": {
			func(cm *corev1.ConfigMap) { cm.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "x"} },
			"managed by Argo CD (annotation argocd.argoproj.io/tracking-id)",
		},
		"Flux": {managed("kustomize-controller"), "managed by Flux (field manager kustomize-controller)"},
		"Flux's labels": {
			func(cm *corev1.ConfigMap) {
				cm.Labels = map[string]string{
					"kustomize.toolkit.fluxcd.io/namespace": "flux-system", "kustomize.toolkit.fluxcd.io/name": "policies",
				}
			},
			"managed by Flux (label kustomize.toolkit.fluxcd.io/name)",
		},
		"Flux's helm-controller": {
			func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"helm.toolkit.fluxcd.io/name": "x"} },
			"managed by Flux (label helm.toolkit.fluxcd.io/name)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := "", test.want
			if err := ManagedBy(configMap(test.change)); err != nil {
				got = err.Error()
			}
			if want != "" {
				want = "the ConfigMap evergate-policy is " + want + end
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	if err := ManagedBy(nil); err != nil {
		t.Errorf("no ConfigMap: %v", err)
	}
}

func TestKeyed(t *testing.T) {
	one := []policy.File{{Name: "new.yaml", Data: []byte("x")}}
	two := []policy.File{{Name: "a.yaml"}, {Name: "b.yaml"}}
	with := func(keys ...string) *corev1.ConfigMap {
		return configMap(func(cm *corev1.ConfigMap) {
			cm.Data = map[string]string{}
			for _, key := range keys {
				cm.Data[key] = ""
			}
		})
	}
	for name, test := range map[string]struct {
		files   []policy.File
		current *corev1.ConfigMap
		want    string
	}{
		"the first policy":             {one, nil, "policy.yaml"},
		"in place of the one there is": {one, with("rules.yaml", "README"), "rules.yaml"},
		"in place of two":              {one, with("a.yaml", "b.yaml"), "policy.yaml"},
		"a directory":                  {two, with("rules.yaml"), "a.yaml b.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, f := range Keyed(test.files, test.current) {
				names = append(names, f.Name)
			}
			if diff := cmp.Diff(test.want, strings.Join(names, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFind(t *testing.T) {
	all := []Revision{{Number: 3, Hash: "c"}, {Number: 2, Hash: "b"}, {Number: 1, Hash: "c"}}
	for name, test := range map[string]struct {
		number int
		hash   string
		want   int
		err    string
	}{
		"the one before":            {0, "c", 2, ""},
		"changed by another client": {0, "x", 3, ""},
		"by its number":             {1, "c", 1, ""},
		"one that is not kept": {
			9, "c", 0, "there is no revision 9: kubectl evergate history lists the revisions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Find(all, test.number, test.hash)
			if got.Number != test.want || test.err != "" && (err == nil || err.Error() != test.err) {
				t.Errorf("got %d, %v", got.Number, err)
			}
		})
	}
	if _, err := Find(all[:1], 0, "c"); err == nil ||
		err.Error() != "there is no other revision: kubectl evergate history lists them" {
		t.Errorf("with one alone: %v", err)
	}
}

// The webhook that protects the policy does not match the names of revisions, so removing a revision does not cause a
// warning.
func TestRevisionIsNoPolicy(t *testing.T) {
	p := Policies{Namespace: "evergate-system", Name: "evergate-policy"}
	cm := p.revision(12, []policy.File{{Name: "policy.yaml", Data: []byte("x")}}, "abc", "jane", "note")
	if cm.Name != "evergate-policy.r12" || cm.Immutable == nil || !*cm.Immutable {
		t.Errorf("%s, immutable %v", cm.Name, cm.Immutable)
	}
	p.Name = strings.Repeat("x", 253)
	if cm := p.revision(12, nil, "", "", ""); len(cm.Name) != 253 || !strings.HasSuffix(cm.Name, "x.r12") {
		t.Errorf("a long name becomes %s", cm.Name)
	}
}
