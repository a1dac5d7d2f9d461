package deploy

import (
	"strings"
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
			inv := &Inventory{}
			for _, s := range tt.there {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
				if s.policy != "" {
					cm.Data, _ = load(s.policy)
				}
				if s.day > 0 {
					cm.CreationTimestamp = metav1.Date(2026, 11, s.day, 0, 0, 0, 0, time.UTC)
				}
				inv.configMaps = append(inv.configMaps, cm)
			}
			_, hash := load(tt.exported)
			inv.admissionPolicies = []*admissionv1.ValidatingAdmissionPolicy{{ObjectMeta: metav1.ObjectMeta{
				Labels:      map[string]string{labelName: "evergate", labelComponent: export.Component},
				Annotations: map[string]string{export.HashAnnotation: hash},
			}}}
			got := ""
			if cm := inv.policyMap(); cm != nil {
				got = cm.Name
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestNotNativeOnly checks inputs with native policies and without webhooks. Some of them do not show whether the
// cluster has webhooks.
func TestNotNativeOnly(t *testing.T) {
	status := func(resource string) change { return change{Add: notListed(resource)} }
	const unread = "these resources could not be listed, so the input does not show whether Evergate has webhooks or a " +
		"Deployment: "
	const permissions = " (docs/preflight.md lists the permissions)"
	const server = "Deployment/evergate"
	for name, tt := range map[string]struct {
		live   bool
		change []change
		want   string
	}{
		"only the export": {
			change: []change{{Remove: server}, {Remove: "ConfigMap/evergate-policy"}},
			want: "the input contains native policies, but neither webhooks of Evergate nor the ConfigMap evergate-policy: " +
				"add the other manifests of the installation",
		},
		"with a server": {
			want: "the input has a Deployment that runs evergate serve, but nothing calls it: no webhook configuration has " +
				"the label app.kubernetes.io/name=evergate, and no webhook is called *.evergate.dev",
		},
		"webhooks may not be listed": {
			live: true,
			change: []change{
				{Remove: server}, status("mutatingwebhookconfigurations"), status("validatingwebhookconfigurations"),
			},
			want: unread + "mutatingwebhookconfigurations, validatingwebhookconfigurations" + permissions,
		},
		"Deployments may not be listed": {
			live: true, change: []change{{Remove: server}, status("deployments")}, want: unread + "deployments" + permissions,
		},
		"other objects may not be listed": {live: true, change: []change{{Remove: server}, status("nodes")}},
	} {
		t.Run(name, func(t *testing.T) {
			m := readFixture(t).load(t, testCase{Live: tt.live, Change: append([]change{
				{Export: []export.Target{export.VAP, export.MAP}},
				{Remove: "MutatingWebhookConfiguration/evergate"}, {Remove: "ValidatingWebhookConfiguration/evergate"},
			}, tt.change...)})
			_, err := Check(m.inventory(t), Options{Now: now})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestUnread checks that objects that may not be listed are not reported as missing.
func TestUnread(t *testing.T) {
	f := readFixture(t)
	for _, tt := range []struct{ check, resource, missing string }{
		{"policy-missing", "configmaps", "there is no ConfigMap"},
		{"deployment", "deployments", "no Deployment runs evergate serve"},
		{"missing-webhook", "validatingwebhookconfigurations", "no ValidatingWebhookConfiguration"},
		{"missing-webhook", "mutatingwebhookconfigurations", "no MutatingWebhookConfiguration"},
		{"missing-webhook", "validatingwebhookconfigurations", "no webhook calls"},
		{"rule-set-webhook", "validatingwebhookconfigurations", "no webhook calls"},
		{"templates-webhook", "validatingwebhookconfigurations", "no webhook that calls"},
	} {
		reported := map[bool]int{} // by whether the resource could be listed
		for _, c := range documents[testCase](t, tt.check+".bad.yaml") {
			for _, listed := range []bool{true, false} {
				m := f.load(t, c)
				if !listed {
					m = append(m, notListed(tt.resource))
				}
				report, err := Check(m.inventory(t), Options{Now: now})
				if err != nil {
					continue // it may be an installation with only native policies: see TestNotNativeOnly
				}
				for _, finding := range report.Findings {
					if finding.ID == tt.check && strings.Contains(finding.Message, tt.missing) {
						reported[listed]++
					}
				}
			}
		}
		if reported[true] == 0 || reported[false] > 0 {
			t.Errorf("%s: %q is found in %d cases, and in %d cases without %s", tt.check, tt.missing, reported[true],
				reported[false], tt.resource)
		}
	}
}

// notListed returns the answer of an API server that a resource may not be listed.
func notListed(resource string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Status", "metadata": map[string]any{}, "status": "Failure",
		"details": map[string]any{"kind": resource},
	}
}
