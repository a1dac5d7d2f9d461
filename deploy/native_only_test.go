package deploy

import (
	"strings"
	"testing"

	"github.com/evergate/evergate/offline/export"
)

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
			_, err := Check(m.read(t), Options{Now: now})
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
				report, err := Check(m.read(t), Options{Now: now})
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
