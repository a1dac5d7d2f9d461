package install

import (
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// TestPolicyMap checks which ConfigMap contains the policy if kustomize has left earlier policies in the cluster.
func TestPolicyMap(t *testing.T) {
	load := func(entry string) (files map[string]string, hash string) {
		text := "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nservices: [{name: " + entry +
			", mode: enforce, types: {denied: [NodePort]}}]\n"
		p, err := policy.Load(policy.File{Name: "policy.yaml", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"policy.yaml": text}, p.Hash()
	}
	const exact, hashed, other = "evergate-policy", "evergate-policy-2b4c6d8f9g", "evergate-policy-5f7h2k9m4t"
	type stored struct {
		name, policy string
		day          int // of its creation; 0 in manifests
	}
	for name, tt := range map[string]struct {
		there    []stored
		exported string
		want     string
	}{
		"none":                        {[]stored{{"evergate-policy.r7", "a", 1}}, "a", ""},
		"the exported policy":         {[]stored{{exact, "a", 3}, {hashed, "b", 1}, {other, "c", 2}}, "b", hashed},
		"the newest exported":         {[]stored{{hashed, "b", 1}, {other, "b", 2}, {exact, "a", 3}}, "b", other},
		"otherwise the newest":        {[]stored{{exact, "a", 1}, {hashed, "b", 3}, {other, "c", 2}}, "d", hashed},
		"otherwise without a hash":    {[]stored{{hashed, "a", 0}, {exact, "b", 0}, {other, "c", 0}}, "d", exact},
		"a policy that fails to load": {[]stored{{exact, "", 1}}, "a", exact},
	} {
		t.Run(name, func(t *testing.T) {
			i := &Install{Objects: NewObjects()}
			for _, s := range tt.there {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
				if s.policy != "" {
					cm.Data, _ = load(s.policy)
				}
				if s.day > 0 {
					cm.CreationTimestamp = metav1.Date(2026, 11, s.day, 0, 0, 0, 0, time.UTC)
				}
				Add(i.Objects, cm, "")
			}
			_, hash := load(tt.exported)
			Add(i.Objects, &admissionv1.ValidatingAdmissionPolicy{
				TypeMeta: metav1.TypeMeta{Kind: "ValidatingAdmissionPolicy"},
				ObjectMeta: metav1.ObjectMeta{
					Labels:      map[string]string{labelName: "evergate", "app.kubernetes.io/component": export.Component},
					Annotations: map[string]string{export.HashAnnotation: hash},
				},
			}, "")
			i.Native, _ = i.native()
			got := ""
			if cm := i.policyMap(); cm != nil {
				got = cm.Name
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
