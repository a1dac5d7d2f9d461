package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/evergate/evergate/cmd/internal/cli"
)

// answers contains the responses of an API server by path. Other paths must not be read.
type answers map[string]string

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, ok := a[r.URL.Path]
	if !ok {
		reject(w, http.StatusForbidden, "Forbidden")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, answer)
}

// small is a cluster with a policy, a Deployment that another policy would deny, and a webhook with a URL.
func small() answers {
	const namespaced = "/api/v1/namespaces/evergate-system"
	policy := "apiVersion: evergate.dev/v1alpha1\\nkind: EvergatePolicy\\nallowEmpty: true\\n"
	meta := `"metadata": {"name": "evergate-policy", "namespace": "evergate-system"}`
	spec := `{"containers": [{"name": "c", "image": "nginx:latest"}]}`
	configMap := fmt.Sprintf(`{"kind": "ConfigMap", "apiVersion": "v1", %s, "data": {"policy.yaml": "%s"}}`, meta, policy)
	return answers{
		"/api/v1/namespaces": `{"kind": "NamespaceList", "apiVersion": "v1", "items": [
			{"metadata": {"name": "team-a", "labels": {"evergate.dev/admission": "enabled"}}}]}`,
		"/api/v1/namespaces/team-a": `{"kind": "Namespace", "apiVersion": "v1",
			"metadata": {"name": "team-a", "labels": {"evergate.dev/admission": "enabled"}}}`,
		namespaced: `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "evergate-system"}}`,

		namespaced + "/pods":                       `{"kind": "PodList", "apiVersion": "v1", "items": []}`,
		namespaced + "/configmaps":                 `{"kind": "ConfigMapList", "apiVersion": "v1", "items": []}`,
		namespaced + "/configmaps/evergate-policy": configMap,
		"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": `{"kind": "MutatingWebhookConfigurationList",
			"apiVersion": "admissionregistration.k8s.io/v1", "items": []}`,
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": `{
			"kind": "ValidatingWebhookConfigurationList", "apiVersion": "admissionregistration.k8s.io/v1", "items": [
			{"metadata": {"name": "evergate"}, "webhooks": [{"name": "workloads.validate.evergate.dev",
			"clientConfig": {"url": "https://evergate.example/validate/pods"},
			"namespaceSelector": {"matchLabels": {"evergate.dev/admission": "enabled"}}}]}]}`,
		"/api/v1/namespaces/team-a/pods/web": `{"kind": "Pod", "apiVersion": "v1",
			"metadata": {"name": "web", "namespace": "team-a"}, "spec": ` + spec + `}`,
		"/apis/apps/v1": `{"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [
			{"name": "deployments", "kind": "Deployment", "namespaced": true, "verbs": ["list"]}]}`,
		"/apis/apps/v1/deployments": `{"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {}, "items": [
			{"metadata": {"name": "web", "namespace": "team-a"}, "spec": {"template": {"spec": ` + spec + `}}}]}`,
	}
}

const denying = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
pods: [{name: tags, mode: enforce, workloads: enforce, images: {deniedTags: [latest]}}]
`

// TestFormats checks the output of each command for programs, with the words of the documentation.
func TestFormats(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		want []string // parts of the JSON output, without spaces
	}{
		{[]string{"status"}, cli.Found, []string{
			`"namespace":"evergate-system"`, `"url":"https://evergate.example"`,
			`"problems":["therearenoreplicas"]`, `"namespaces":1`,
		}},
		{[]string{"plan", "-f", "-"}, cli.Found, []string{`"kind":"Deployment"`, `"name":"web"`}},
		{[]string{"history"}, cli.OK, []string{`[]`}},
		{[]string{"explain", "web", "-n", "team-a"}, cli.OK, []string{
			`"webhooks":["workloads.validate.evergate.dev"]`, `"policy":"`, `"review":{`,
		}},
	} {
		t.Run(test.args[0], func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append(test.args, "-o", "json", "--kubeconfig", kubeconfig(t, small().ServeHTTP))
			code := run(t.Context(), args, strings.NewReader(denying), &stdout, &stderr)
			var compact bytes.Buffer
			if err := json.Compact(&compact, stdout.Bytes()); err != nil || code != test.code {
				t.Fatalf("exit code %d (want %d), %v\n%s%s", code, test.code, err, &stdout, &stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(strings.ReplaceAll(compact.String(), " ", ""), want) {
					t.Errorf("no %s in\n%s", want, &stdout)
				}
			}
		})
	}
}

// TestForbiddenKinds checks that kinds that cannot be listed are reported in one line.
func TestForbiddenKinds(t *testing.T) {
	for command, args := range map[string][]string{"plan": {"plan", "-f", "-"}, "preflight": {"preflight"}} {
		t.Run(command, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append(args, "--kubeconfig", kubeconfig(t, small().ServeHTTP))
			run(t.Context(), args, strings.NewReader(denying), &stdout, &stderr)
			lines := strings.Count(stderr.String(), "Forbidden") + strings.Count(stderr.String(), "you may not list them: ")
			if lines > 2 || !strings.Contains(stderr.String(), "you may not list them: ") {
				t.Errorf("%s", &stderr)
			}
		})
	}
}
