package cmd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An audit lists and validates all objects that an API server serves. Kinds that cannot be listed are errors next to
// the report.
func TestAuditOfAnAPIServer(t *testing.T) {
	answers := map[string]string{
		"/api/v1": `{"kind":"APIResourceList","resources":[
			{"name":"pods","verbs":["list"]},{"name":"services","verbs":["list"]}]}`,
		"/api/v1/pods?limit=500": `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[
			{"metadata":{"name":"web","namespace":"team-a"},"spec":{"containers":[{"name":"app","image":"nginx"}]}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[strings.TrimSuffix(r.URL.Path+"?"+r.URL.RawQuery, "?")]
		switch {
		case ok:
			_, _ = io.WriteString(w, answer)
		case r.URL.Path == "/api/v1/services":
			w.WriteHeader(http.StatusForbidden)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	code, stdout, stderr := runAudit(t, nil, "--api-server", server.URL)
	const said = "evergate: services: the list is incomplete: the API server answers 403\n"
	if code != 2 || stderr != said {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	for _, want := range []string{
		"  Pod web: denied\n",
		"1 object validated against policy 9fb3c7382387: 1 would be denied now; 1 image outside the mirrors; 1 error in " +
			"the input\n",
		"\nnot served: ingresses.networking.k8s.io, xbackends.gateway.networking.x-k8s.io, httproutes.gateway.networking.k8s.io, ",
		", certificates.cert-manager.io, dnsendpoints.externaldns.k8s.io\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output lacks %q:\n%s", want, stdout)
		}
	}
	_, stdout, _ = runAudit(t, []string{"EVERGATE_API_SERVER=" + server.URL}, "-o", "json")
	if want := "\"notServed\": [\n    \"ingresses.networking.k8s.io\",\n"; !strings.Contains(stdout, want) {
		t.Errorf("the output lacks %q:\n%s", want, stdout)
	}
}
