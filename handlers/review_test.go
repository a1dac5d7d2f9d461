package handlers

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testPolicy has an entry of each kind.
const testPolicy = `
mirrors:
- {name: hub, sources: [docker.io], mirror: mirror.corp.example/docker.io, mode: enforce}
- {name: quay, sources: [quay.io], mirror: mirror.corp.example/quay.io, mode: warn}
pods:
- {name: only-mirrors, mode: enforce, images: {from: mirrors}}
ingresses:
- {name: team-hosts, mode: enforce, hosts: {allowed: ["*.apps.corp.example"]}}
services:
- {name: no-public-entry, mode: warn, types: {allowed: [ClusterIP]}}
`

// reviewOf returns a review in the format of kube-apiserver. old may be empty.
func reviewOf(group, resource, operation, object, old string) string {
	if old == "" {
		old = "null"
	}
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5",` +
		`"resource":{"group":"` + group + `","version":"v1","resource":"` + resource + `"},` +
		`"name":"shop","namespace":"team-a","operation":"` + operation + `","userInfo":{"username":"jane"},` +
		`"object":` + object + `,"oldObject":` + old + `,"dryRun":false}}`
}

func podOf(image string) string {
	return `{"metadata":{"name":"shop"},"spec":{"containers":[{"name":"app","image":"` + image + `"}]}}`
}

func ingressOf(host string) string {
	return `{"metadata":{"name":"shop"},"spec":{"rules":[{"host":"` + host + `"}]}}`
}

// wire is a response as kube-apiserver reads it.
type wire struct {
	APIVersion, Kind string
	Response         wireResponse
}

type wireResponse struct {
	UID     string
	Allowed bool
	Status  *struct {
		Code    int
		Message string
	}
	Patch            []byte
	PatchType        string
	Warnings         []string
	AuditAnnotations map[string]string
}

func TestReviews(t *testing.T) {
	f := newFixture(t, testPolicy)
	s := startTLS(t, servingOf(f.Config))
	hash := f.Policies.Current().Hash()
	tests := []struct {
		name, path, body string
		outcome          string
		patch            string
		warnings         []string
		audit            map[string]string // in addition to the policy
	}{
		{
			name: "a Pod is rewritten", path: "/mutate/pods", body: reviewOf("", "pods", "CREATE", podOf("nginx:1.25"), ""),
			outcome: rewritten,
			patch: `[{"op":"replace","path":"/spec/containers/0/image",` +
				`"value":"mirror.corp.example/docker.io/library/nginx:1.25"},` +
				`{"op":"add","path":"/metadata/annotations",` +
				`"value":{"evergate.dev/original-images":"{\"containers/app\":\"nginx:1.25\"}"}}]`,
			audit: map[string]string{
				"images": "containers/app: nginx:1.25 -> mirror.corp.example/docker.io/library/nginx:1.25 (hub, enforce)",
			},
		},
		{
			name: "by the retry webhook too", path: "/mutate/pods/again",
			body:    reviewOf("", "pods", "CREATE", podOf("quay.io/a/b"), ""),
			outcome: allowed,
			warnings: []string{
				"[warn " + hash + "] quay: spec.containers[0].image: quay.io/a/b would be pulled from " +
					"mirror.corp.example/quay.io/a/b",
			},
			audit: map[string]string{"images": "containers/app: quay.io/a/b -> mirror.corp.example/quay.io/a/b (quay, warn)"},
		},
		{
			name: "a Pod at a mirror passes", path: "/validate/pods", outcome: allowed,
			body: reviewOf("", "pods", "CREATE", podOf("mirror.corp.example/docker.io/library/nginx:1.25"), ""),
		},
		{
			name: "a Pod elsewhere does not", path: "/validate/pods",
			body:    reviewOf("", "pods", "CREATE", podOf("nginx:1.25"), ""),
			outcome: denied, audit: map[string]string{"findings": "only-mirrors/images.from (enforce)"},
		},
		{
			name: "an Ingress", path: "/validate/ingresses",
			body:    reviewOf("networking.k8s.io", "ingresses", "CREATE", ingressOf("shop.example.com"), ""),
			outcome: denied, audit: map[string]string{"findings": "team-hosts/hosts.allowed (enforce)"},
		},
		{
			name: "an Ingress that is older than the policy", path: "/validate/ingresses",
			body:    reviewOf("networking.k8s.io", "ingresses", "UPDATE", ingressOf("x.y"), ingressOf("x.y")),
			outcome: allowed, audit: map[string]string{"findings": "team-hosts/hosts.allowed (enforce, existed)"},
			warnings: []string{"[enforce " + hash +
				"] team-hosts/hosts.allowed: spec.rules[0].host: …; existed before this update"},
		},
		{
			name: "a Service", path: "/validate/services", outcome: allowed,
			body:     reviewOf("", "services", "CREATE", `{"spec":{"type":"NodePort"}}`, ""),
			audit:    map[string]string{"findings": "no-public-entry/types.allowed (warn)"},
			warnings: []string{"[warn " + hash + "] no-public-entry/types.allowed: spec.type: …"},
		},
		{
			name: "a deletion", path: "/validate/services", outcome: allowed,
			body: reviewOf("", "services", "DELETE", "null", `{"spec":{"type":"NodePort"}}`),
		},
		{
			name: "an operation that changes nothing", path: "/validate/services", outcome: allowed,
			body: reviewOf("", "services", "CONNECT", `{"spec":{"type":"NodePort"}}`, ""),
		},
		{
			name: "an image that is a number", path: "/mutate/pods", outcome: unevaluated,
			body:  reviewOf("", "pods", "CREATE", `{"spec":{"containers":[{"name":"app","image":5}]}}`, ""),
			audit: map[string]string{"unevaluated": "spec.containers[0].image: want a string, got a number (enforce)"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, s.Client(), post(t.Context(), t, s.URL+tt.path+"?timeout=3s", tt.body))
			var a wire
			err := json.Unmarshal([]byte(got.body), &a)
			if err != nil || got.status != 200 || got.header.Get("Content-Type") != "application/json" ||
				got.header.Get("Content-Length") != strconv.Itoa(len(got.body)) {
				t.Fatalf("answered %d %s (%v)", got.status, got.body, err)
			}
			denies := tt.outcome == denied || tt.outcome == unevaluated
			if a.APIVersion != "admission.k8s.io/v1" || a.Kind != "AdmissionReview" || a.Response.UID != "705ab4f5" ||
				a.Response.Allowed == denies {
				t.Errorf("answered %s", got.body)
			}
			if denies && (a.Response.Status == nil || a.Response.Status.Code != http.StatusForbidden ||
				!strings.Contains(got.body, "[policy "+hash+"]")) {
				t.Errorf("a denial without code 403 or the policy's hash: %s", got.body)
			}
			diff := cmp.Diff(tt.patch, string(a.Response.Patch))
			if diff != "" || (a.Response.PatchType == "JSONPatch") != (tt.patch != "") {
				t.Errorf("patch of type %q (-want +got):\n%s", a.Response.PatchType, diff)
			}
			equal(t, tt.warnings, shorten(a.Response.Warnings, tt.warnings), "warnings")
			audit := map[string]string{"policy": hash}
			maps.Copy(audit, tt.audit)
			equal(t, audit, a.Response.AuditAnnotations, "audit annotations")
		})
	}
}

// The addresses in the status of a Service have a separate path, which evaluates only new addresses.
func TestServiceStatus(t *testing.T) {
	f := newFixture(t, "services:\n- {name: r, mode: enforce, loadBalancerStatus: {allowed: [192.0.2.0/24]}}\n")
	s := startTLS(t, servingOf(f.Config))
	status := func(ip string) string {
		return `{"spec":{},"status":{"loadBalancer":{"ingress":[{"ip":"` + ip + `"}]}}}`
	}
	for _, test := range []struct {
		old, now string
		allowed  bool
	}{
		{"192.0.2.1", "192.0.2.2", true},
		{"192.0.2.1", "8.8.8.8", false},
		{"8.8.8.8", "8.8.8.8", true},
	} {
		body := reviewOf("", "services", "UPDATE", status(test.now), status(test.old))
		body = strings.Replace(body, `"name":"shop"`, `"subResource":"status","name":"shop"`, 1)
		got := send(t, s.Client(), post(t.Context(), t, s.URL+"/validate/services/status", body))
		if answer := decodeWire(t, got.body); got.status != 200 || answer.Response.Allowed != test.allowed {
			t.Errorf("from %s to %s: answered %d %s", test.old, test.now, got.status, got.body)
		}
	}
}

// shorten replaces the end of a warning by … if the expected warning does. It is for sentences of other packages.
func shorten(got, want []string) []string {
	for i := range min(len(got), len(want)) {
		head, tail, cut := strings.Cut(want[i], "…")
		if cut && strings.HasPrefix(got[i], head) && strings.HasSuffix(got[i], tail) {
			got[i] = want[i]
		}
	}
	return got
}

// These are all responses that are not a review, over the network.
func TestDenials(t *testing.T) {
	f := newFixture(t, testPolicy)
	s := startTLS(t, servingOf(f.Config))
	pod := reviewOf("", "pods", "CREATE", podOf("nginx"), "")
	plain := func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }
	tests := []struct {
		name   string
		method string
		path   string
		body   string
		tweak  func(*http.Request)
		status int
		want   string
		allow  string
	}{
		{name: "a review read", method: "GET", path: "/mutate/pods", status: 405,
			want: "GET is not served at /mutate/pods: send POST", allow: "POST"},
		{name: "a review put", method: "PUT", path: "/validate/services", body: pod, status: 405,
			want: "PUT is not served at /validate/services: send POST", allow: "POST"},
		{name: "a probe posted", path: "/readyz", status: 405, want: "POST is not served at /readyz: send GET", allow: "GET"},
		{name: "an unheard-of method", method: "BREW", path: "/mutate/pods", status: 405,
			want: "BREW is not served at /mutate/pods: send POST", allow: "POST"},
		{name: "an unheard-of method to nowhere", method: "BREW", path: "/coffee", status: 404,
			want: `nothing is served at "/coffee"`},
		{name: "nowhere", path: "/mutate", body: pod, status: 404, want: `nothing is served at "/mutate"`},
		{name: "a slash too many", path: "/mutate/pods/", body: pod, status: 404,
			want: `nothing is served at "/mutate/pods/"`},
		{name: "the operators' pages", method: "GET", path: "/metrics", status: 404, want: `nothing is served at "/metrics"`},
		{name: "another type", path: "/mutate/pods", body: pod, tweak: plain, status: 415,
			want: `Content-Type is "text/plain": send application/json`},
		{
			name: "no type", path: "/mutate/pods", body: pod, tweak: func(r *http.Request) { r.Header.Del("Content-Type") },
			status: 415, want: `Content-Type is "": send application/json`,
		},
		{
			name: "no length", path: "/mutate/pods", body: pod, tweak: func(r *http.Request) { r.ContentLength = -1 },
			status: 411, want: "there is no Content-Length: send it so that memory can be reserved for the body",
		},
		{name: "no body", path: "/mutate/pods", status: 400, want: "empty, want JSON"},
		{name: "not JSON", path: "/mutate/pods", body: "kind: AdmissionReview", status: 400, want: "not JSON: …"},
		{name: "half a review", path: "/mutate/pods", body: pod[:len(pod)/2], status: 400, want: "not JSON: …"},
		{name: "more than a review", path: "/mutate/pods", body: pod + "{}", status: 400,
			want: "something follows the end of the JSON at byte …"},
		{name: "another kind", path: "/mutate/pods", body: `{"apiVersion":"admission.k8s.io/v1","kind":"Pod"}`, status: 400,
			want: `kind is "Pod", want AdmissionReview`},
		{
			name: "an old version", path: "/mutate/pods",
			body: `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}`, status: 400,
			want: "apiVersion is admission.k8s.io/v1beta1, want admission.k8s.io/v1: " +
				"set admissionReviewVersions: [v1] in the webhook configuration",
		},
		{
			name: "an object for another path", path: "/validate/ingresses", body: pod, status: 400,
			want: "request.resource is pods.v1, want ingresses.v1.networking.k8s.io",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := post(t.Context(), t, s.URL+tt.path, tt.body)
			if tt.method != "" {
				req.Method = tt.method
			}
			if tt.tweak != nil {
				tt.tweak(req)
			}
			got := send(t, s.Client(), req)
			if got.status != tt.status || shorten([]string{got.body}, []string{tt.want + "\n"})[0] != tt.want+"\n" {
				t.Errorf("answered %d %q, want %d %q", got.status, got.body, tt.status, tt.want)
			}
			if ct := got.header.Get("Content-Type"); ct != "text/plain; charset=utf-8" {
				t.Errorf("Content-Type %q", ct)
			}
			if got.header.Get("Allow") != tt.allow || got.header.Get("Retry-After") != "" {
				t.Errorf("Allow %q, want %q; Retry-After %q, want none", got.header.Get("Allow"), tt.allow,
					got.header.Get("Retry-After"))
			}
		})
	}
}

// A type with parameters, as clients other than kube-apiserver send it, is also JSON.
func TestContentTypeWithCharset(t *testing.T) {
	f := newFixture(t, "")
	s := startTLS(t, servingOf(f.Config))
	req := post(t.Context(), t, s.URL+"/mutate/pods", reviewOf("", "pods", "CREATE", podOf("nginx"), ""))
	req.Header.Set("Content-Type", "Application/JSON; charset=utf-8")
	if got := send(t, s.Client(), req); got.status != 200 {
		t.Errorf("answered %d %s", got.status, got.body)
	}
}

// The empty policy does not deny any object, even if the object could not be evaluated.
func TestEmptyPolicyAllowsAll(t *testing.T) {
	f := newFixture(t, "")
	s := startTLS(t, servingOf(f.Config))
	for _, object := range []string{podOf("nginx"), podOf("::"), `{"spec":{"containers":[{"image":5}]}}`,
		strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)} {
		for _, path := range []string{"/mutate/pods", "/validate/pods"} {
			got := send(t, s.Client(), post(t.Context(), t, s.URL+path, reviewOf("", "pods", "CREATE", object, "")))
			if got.status != 200 || !strings.Contains(got.body, `"allowed":true`) || strings.Contains(got.body, "patch") {
				t.Errorf("%s: answered %d %s", path, got.status, got.body)
			}
		}
	}
}

// An object with 1.3 MiB of < takes 7.8 MiB in a review, because Go writes < as \u003c. Such a Pod is evaluated.
func TestLargeObjectIsEvaluated(t *testing.T) {
	f := newFixture(t, testPolicy)
	s := startTLS(t, servingOf(f.Config))
	pod := `{"metadata":{"annotations":{"x":"` + strings.Repeat(`\u003c`, 1300<<10) +
		`"}},"spec":{"containers":[{"name":"app","image":"nginx"}]}}`
	got := send(t, s.Client(), post(t.Context(), t, s.URL+"/validate/pods", reviewOf("", "pods", "CREATE", pod, "")))
	if got.status != 200 || !strings.Contains(got.body, `"allowed":false`) ||
		!strings.Contains(got.body, "only-mirrors/images.from") {
		t.Errorf("answered %d %s", got.status, got.body)
	}
}
