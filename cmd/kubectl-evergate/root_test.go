package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/policy"
)

// kubeconfig returns the path of a kubeconfig for an API server with a handler. Without a handler, the API server is
// down.
func kubeconfig(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	if t.Cleanup(server.Close); handler == nil {
		server.Close()
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: staging
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: staging, context: {cluster: c, user: u}}
- {name: production, context: {cluster: c, user: u}}
`, server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// reject sends the response of an API server that rejects a request, for a reason such as NotFound.
func reject(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "message": %q, "code": %d}`,
		reason, "it is "+reason, code)
}

// TestUnknown checks that objects that cannot be read are not reported as missing.
func TestUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		args   []string
		code   int
		want   string // parts of the output
		not    string
	}{
		"no such namespace": {
			func(w http.ResponseWriter, _ *http.Request) { reject(w, http.StatusNotFound, "NotFound") },
			[]string{"status", "--evergate-namespace", "evergate"}, cli.Usage,
			"evergate: the cluster has no namespace evergate: set the namespace of Evergate with --evergate-namespace\n",
			"opted in",
		},
		"status, nothing allowed": {
			func(w http.ResponseWriter, _ *http.Request) { reject(w, http.StatusForbidden, "Forbidden") },
			[]string{"status"}, cli.Usage, "replicas: list the replicas: it is Forbidden", "there are no replicas",
		},
		"apply, nothing allowed": {
			func(w http.ResponseWriter, _ *http.Request) { reject(w, http.StatusForbidden, "Forbidden") },
			[]string{"apply", "-f", "-"}, cli.Usage, "list the replicas: it is Forbidden", "there are no replicas",
		},
		"status, the server is down": {
			nil,
			[]string{"status"}, cli.Usage, "replicas: list the replicas: ", "there are no replicas",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			policy := strings.NewReader("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nallowEmpty: true\n")
			code := run(t.Context(), append(test.args, "--kubeconfig", kubeconfig(t, test.answer)), policy, &out, &out)
			if code != test.code || !strings.Contains(out.String(), test.want) || strings.Contains(out.String(), test.not) {
				t.Errorf("exit code %d, want %d and %q, without %q:\n%s", code, test.code, test.want, test.not, &out)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	file := kubeconfig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"metadata": {"name": "team-a"}}]}`)
	})
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"status", "--context", ""}, "production\nstaging\n"},
		{[]string{"status", "--evergate-namespace", ""}, "team-a\n"},
		{[]string{"explain", "--namespace", ""}, "team-a\n"},
		{[]string{"explain", "-n", ""}, "team-a\n"},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"__complete", "--kubeconfig", file}, test.args...)
		if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 0 ||
			!strings.HasPrefix(stdout.String(), test.want+":") {
			t.Errorf("%v: exit code %d, %q, want %q", test.args, code, stdout.String(), test.want)
		}
	}
}

// TestEmptyPolicy checks that a policy without entries is not applied by accident.
func TestEmptyPolicy(t *testing.T) {
	file := kubeconfig(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "/configmaps/") {
			reject(w, http.StatusNotFound, "NotFound")
			return
		}
		fmt.Fprint(w, `{"kind": "PodList", "apiVersion": "v1", "items": []}`)
	})
	var out bytes.Buffer
	empty := strings.NewReader("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n")
	code := run(t.Context(), []string{"apply", "-f", "-", "--kubeconfig", file}, empty, &out, &out)
	if want := "evergate: the policy is empty, "; code != cli.Usage || !strings.HasPrefix(out.String(), want) {
		t.Errorf("exit code %d: %s", code, &out)
	}
}

func TestEnforces(t *testing.T) {
	for text, want := range map[string]bool{
		"allowEmpty: true": false,
		"services: [{name: a, mode: warn, types: {denied: [NodePort]}}]":                          false,
		"services: [{name: a, mode: enforce, types: {denied: [NodePort]}}]":                       true,
		"services: [{name: a, mode: enforce, match: {set: strict}, types: {denied: [NodePort]}}]": true,
		"services: [{name: a, mode: audit, match: {set: strict}, types: {denied: [NodePort]}}]":   false,
	} {
		p, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(
			"apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + text)})
		if err != nil {
			t.Fatal(err)
		}
		if got := enforces(p); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
