package handlers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// configMapOf returns a ConfigMap with alternating keys and values.
func configMapOf(field string, keys ...string) string {
	values := map[string]string{}
	for i := 0; i < len(keys); i += 2 {
		values[keys[i]] = keys[i+1]
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	return `{"metadata":{"name":"evergate-policy"},"` + field + `":` + string(text) + `}`
}

// manyPlaces returns n places behind a mirror, and manyWarnings returns their warnings.
func manyPlaces(n int) string {
	var places []string
	for i := range n {
		places = append(places, fmt.Sprintf("docker.io/evil/%d", i))
	}
	return strings.Join(places, ", ")
}

func manyWarnings(n int) []string {
	var warnings []string
	for i := range n {
		warnings = append(warnings,
			fmt.Sprintf("policy.yaml:6:3: pods[0]: images.denied has docker.io/evil/%d, and mirrors entry hub has it at "+
				"m.example/hub/evil/%[1]d: an image written like that is not denied; deny m.example/hub/evil/%[1]d too", i))
	}
	return warnings
}

func TestPolicyGuard(t *testing.T) {
	const (
		head = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"
		good = head + "services: [{name: a, mode: enforce, types: {denied: [NodePort]}}]\n"
		bad  = head + "servises: []\n"
		// The mirror contains a denied image under a name that is allowed.
		behind = "mirrors:\n- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}\npods:\n" +
			"- {name: r, mode: enforce, images: {denied: [docker.io/evil/x]}}\n"
		noKey = "this policy is empty, no key of the ConfigMap ends in .yaml or .yml: write allowEmpty: true in a " +
			"document to switch everything off "
		why = "policy.yaml:3:1: servises: unknown field; did you mean services?"
	)
	f := newFixture(t, testPolicy)
	s := startTLS(t, servingOf(f.Config))
	suffix := "[policy " + f.Policies.Current().Hash() + "]"
	old := configMapOf("data")
	tests := []struct {
		name, operation, object string
		denial                  string // up to the policy's hash; empty: allowed
		warnings                []string
	}{
		{name: "a policy", object: configMapOf("data", "policy.yaml", good)},
		{name: "two files", object: configMapOf("data", "a.yaml", good, "b.yml", head)},
		{
			name: "entries that are all off", object: configMapOf("data", "a.yaml", strings.Replace(good, "enforce", "off", 1)),
			warnings: []string{"this policy switches everything off: no entry is switched on"},
		},
		{
			name: "no entry, and that is meant", object: configMapOf("data", "a.yaml", head+"allowEmpty: true\n"),
			warnings: []string{"this policy switches everything off: no entry is switched on"},
		},
		{name: "a mistake", object: configMapOf("data", "policy.yaml", bad), denial: why + " "},
		{name: "a mistake in a binary key", object: configMapOf("binaryData", "policy.yaml",
			base64.StdEncoding.EncodeToString([]byte(bad))), denial: why + " "},
		{name: "an update", operation: "UPDATE", object: configMapOf("data", "policy.yaml", bad), denial: why + " "},
		{
			name: "a deletion", operation: "DELETE", object: "null",
			warnings: []string{"this deletes the policy: running replicas keep it active, but a new replica starts " +
				"without a policy and allows everything, unless --require-policy keeps it unready"},
		},
		{
			name:   "mistakes in two files, in their order",
			object: configMapOf("data", "b.yaml", bad, "a.yaml", "kind: [", "policy.yaml", bad),
			denial: "3 mistakes:\n- a.yaml:1: not valid YAML: did not find expected node content\n" +
				"- b.yaml:3:1: servises: unknown field; did you mean services?\n- " + why + "\n",
		},
		{
			name:   "a name in two files",
			object: configMapOf("data", "a.yaml", good, "b.yaml", good),
			denial: `b.yaml:3:12: services[0]: the name "a" is taken by a.yaml:3:12: names must be unique in the whole policy `,
		},
		{
			name: "other keys are none of ours", object: configMapOf("data", "policy.txt", bad), denial: noKey,
		},
		{name: "no keys", object: configMapOf("data"), denial: noKey},
		{
			name: "no entry", object: configMapOf("data", "policy.yaml", head),
			denial: "this policy is empty, there is no entry in it: write allowEmpty: true in a document to switch " +
				"everything off ",
		},
		{
			name: "a policy that does less than it looks like", object: configMapOf("data", "policy.yaml", head+behind),
			warnings: []string{"policy.yaml:6:3: pods[0]: images.denied has docker.io/evil/x, and mirrors entry hub has it at " +
				"m.example/hub/evil/x: an image written like that is not denied; deny m.example/hub/evil/x too"},
		},
		{
			name: "one that does in more ways than are shown",
			object: configMapOf("data", "policy.yaml",
				head+strings.Replace(behind, "[docker.io/evil/x]", "["+manyPlaces(12)+"]", 1)),
			warnings: append(manyWarnings(10), "and 2 more: evergate policy check prints all"),
		},
		{
			name: "a syntax error", object: configMapOf("data", "policy.yaml", head+"ingresses: [*.apps.corp]\n"),
			denial: "policy.yaml:3: not valid YAML: did not find expected alphabetic or numeric character; " +
				"quote values that begin with * ",
		},
		{name: "what is no base64", object: configMapOf("binaryData", "policy.yaml", "%"),
			denial: "binaryData[policy.yaml]: is not base64 "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			operation, before := tt.operation, ""
			if operation == "" {
				operation = "CREATE"
			} else {
				before = old
			}
			body := reviewOf("", "configmaps", operation, tt.object, before)
			got := send(t, s.Client(), post(t.Context(), t, s.URL+"/validate/policy?timeout=3s", body))
			var a struct {
				Response struct {
					Allowed  bool
					Status   struct{ Message string }
					Warnings []string
				}
			}
			if err := json.Unmarshal([]byte(got.body), &a); err != nil || got.status != 200 {
				t.Fatalf("answered %d %s (%v)", got.status, got.body, err)
			}
			want := tt.denial
			if want != "" {
				want += suffix
			}
			equal(t, want, a.Response.Status.Message, "message")
			if a.Response.Allowed != (tt.denial == "") {
				t.Errorf("allowed: %t", a.Response.Allowed)
			}
			equal(t, tt.warnings, a.Response.Warnings, "warnings")
		})
	}
	s.Close() // waits for the handler, which logs after it has responded
	// The log line of a denied policy contains the same attributes as other denials, and the mistake.
	if log, want := f.log.String(), fmt.Sprintf("reason=%q mistakes=1", why); !strings.Contains(log, want) {
		t.Errorf("the log lacks %s:\n%s", want, log)
	}
}
