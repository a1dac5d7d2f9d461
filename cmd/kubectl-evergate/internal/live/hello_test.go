package live

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/offline"
)

// manifest returns a webhook configuration of kustomize/base, with the namespace of a cluster that has opted in.
func manifest(t *testing.T, extra string) *install.Install {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"mutating-webhook.yaml", "validating-webhook.yaml"} {
		text, err := os.ReadFile("../../../../kustomize/base/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		all.WriteString("\n---\n")
	}
	objects, err := install.Read(offline.Read([]string{offline.Stdin}, strings.NewReader(all.String()+extra)))
	if err != nil {
		t.Fatal(err)
	}
	joined, err := install.Join(objects)
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

// hellos returns the answers of an API server that answers each request by a function.
func hellos(t *testing.T, i *install.Install, answer http.HandlerFunc) map[string]deploy.Answer {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	c, err := New(&rest.Config{Host: s.URL}, "evergate-system", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return c.Hello(t.Context(), i)
}

const optedIn = `apiVersion: v1
kind: Namespace
metadata: {name: kube-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {evergate.dev/admission: enabled}}
`

// Every webhook of the manifests is called by a dry run, except the one for a status.
func TestHello(t *testing.T) {
	i := manifest(t, optedIn)
	var sent []string
	got := hellos(t, i, func(w http.ResponseWriter, r *http.Request) {
		var object struct {
			Kind     string
			Metadata struct {
				Name        string
				Annotations map[string]string
			}
		}
		body, err := io.ReadAll(r.Body)
		posted := r.Method == http.MethodPost && r.URL.RawQuery == "dryRun=All"
		if err != nil || json.Unmarshal(body, &object) != nil || !posted {
			t.Errorf("%s %s: %s, %v", r.Method, r.URL, body, err)
		}
		if _, ok := object.Metadata.Annotations[admission.HelloAnnotation]; !ok {
			t.Errorf("%s has no annotation", object.Kind)
		}
		sent = append(sent, r.URL.Path+" "+object.Metadata.Name)
		w.Header().Set("Content-Type", "application/json")
		for _, h := range i.Hooks { // as if each webhook were called
			d := admission.Decision{Policy: "0123456789ab"}
			w.Header().Add("Warning", fmt.Sprintf("299 - %q", d.Hello(h.Path, "v1.2.3")))
		}
		w.WriteHeader(http.StatusForbidden) // warnings are also sent with a denial
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403}`))
	})
	for _, h := range i.Hooks {
		want := deploy.Answer{Policy: "0123456789ab"}
		if h.Path == "/validate/services/status" {
			want = deploy.Answer{NotCalled: "its rules do not match the creation of an object that preflight has"}
		}
		if diff := cmp.Diff(want, got[h.Name]); diff != "" {
			t.Errorf("%s: %s", h.Name, diff)
		}
	}
	for _, want := range []string{
		"/api/v1/namespaces/team-a/pods evergate-hello", "/api/v1/namespaces/evergate-system/configmaps evergate-policy",
		"/apis/networking.k8s.io/v1/namespaces/team-a/ingresses evergate-hello",
	} {
		if !slices.Contains(sent, want) {
			t.Errorf("%s was not sent: %q", want, sent)
		}
	}
	if len(sent) != len(slices.Compact(slices.Sorted(slices.Values(sent)))) {
		t.Errorf("an object was sent twice: %q", sent)
	}
}

// A webhook that does not answer is reported, with the reason if the API server states it.
func TestHelloWithoutAnswer(t *testing.T) {
	i := manifest(t, optedIn)
	status := func(code int, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			reason := map[int]string{404: "NotFound", 409: "AlreadyExists", 403: "Forbidden"}[code]
			_, _ = fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": %d, "reason": %q,
"message": %q}`, code, reason, message)
		}
	}
	const name, failed = "pods.validate.evergate.dev", `failed calling webhook "pods.validate.evergate.dev": timeout`
	for _, tt := range []struct {
		code    int
		message string
		want    deploy.Answer
	}{
		{500, failed, deploy.Answer{Failed: failed}},
		{500, `failed calling webhook "a"`, deploy.Answer{NotCalled: `failed calling webhook "a"`}},
		{403, "jane cannot create pods", deploy.Answer{NotCalled: "jane cannot create pods"}},
		{409, "it exists", deploy.Answer{}},
		{201, "", deploy.Answer{}},
	} {
		if diff := cmp.Diff(tt.want, hellos(t, i, status(tt.code, tt.message))[name]); diff != "" {
			t.Errorf("%d %s: %s", tt.code, tt.message, diff)
		}
	}
	if answer, ok := hellos(t, i, status(404, "not served"))[name]; ok {
		t.Errorf("a kind that is not served: %+v", answer)
	}
	got := hellos(t, manifest(t, ""), status(403, "no"))
	if want := (deploy.Answer{NotCalled: "no namespace has opted in"}); got[name] != want || len(got) != len(i.Hooks) {
		t.Errorf("without a namespace: %+v", got)
	}
}
