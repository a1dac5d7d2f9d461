package apiserver

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/offline"
)

// fake is an API server: its responses by path and query. It does not serve other paths.
type fake map[string]string

const rejected = "rejected: " // an answer that begins so is a Status with this code and message

func (f fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, ok := f[strings.TrimSuffix(r.URL.Path+"?"+r.URL.RawQuery, "?")]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var code int
	var message, next string
	if n, _ := fmt.Sscanf(answer, rejected+"%d %q %q", &code, &message, &next); n > 1 {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": "Status", "message": message, "metadata": map[string]string{"continue": next},
		})
		return
	}
	_, _ = io.WriteString(w, answer)
}

// serving returns the list of resources of a group and version.
func serving(resources ...string) string {
	s := `{"kind":"APIResourceList","resources":[{"name":"pods/status","verbs":["get"]},{"name":"other","verbs":["list"]}`
	for _, r := range resources {
		s += `,{"name":"` + r + `","verbs":["get","list","watch"]}`
	}
	return s + "]}"
}

// pods returns a page of Pods as an API server writes it: its items do not have a kind.
func pods(next string, names ...string) string {
	s := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"` + next + `"},"items":[`
	for i, name := range names {
		s += strings.Repeat(",", min(i, 1)) + `{"metadata":{"name":"` + name + `","namespace":"a"}}`
	}
	return s + "]}\n"
}

// custom returns a page of custom resources. The fields of the list follow the items.
func custom(apiVersion, kind, next string, names ...string) string {
	s := `{"apiVersion":"` + apiVersion + `","items":[`
	for i, name := range names {
		s += strings.Repeat(",", min(i, 1)) +
			`{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"` + name + `","namespace":"a"}}`
	}
	return s + `],"kind":"` + kind + `List","metadata":{"continue":"` + next + `","resourceVersion":"7"}}` + "\n"
}

// listed returns the objects and errors from a client, line by line, and the resources that are not served.
func listed(ctx context.Context, c *Client) (lines, absent []string) {
	for object, err := range c.Objects(ctx, false) {
		notServed, ok := errors.AsType[*offline.NotServedError](err)
		switch {
		case ok:
			absent = append(absent, notServed.Resource)
		case err != nil:
			lines = append(lines, "error: "+err.Error())
		default:
			lines = append(lines, object.APIVersion+" "+object.String())
		}
	}
	return lines, absent
}

const (
	gateway = "/apis/gateway.networking.k8s.io"
	limit   = "?limit=500"
	next    = "?continue=2&limit=500"
)

func TestObjects(t *testing.T) {
	for name, test := range map[string]struct {
		server fake
		want   []string
	}{
		"nothing of it is served": {fake{}, nil},
		"pages": {
			fake{
				"/api/v1": serving("pods"), "/api/v1/pods" + limit: pods("2", "a", "b"), "/api/v1/pods" + next: pods("", "c"),
			},
			[]string{"v1 Pod a/a", "v1 Pod a/b", "v1 Pod a/c"},
		},
		"pages of a custom resource": {
			fake{
				gateway + "/v1":                    serving("httproutes"),
				gateway + "/v1/httproutes" + limit: custom("gateway.networking.k8s.io/v1", "HTTPRoute", "2", "a"),
				gateway + "/v1/httproutes" + next:  custom("gateway.networking.k8s.io/v1", "HTTPRoute", "", "b"),
			},
			[]string{"gateway.networking.k8s.io/v1 HTTPRoute a/a", "gateway.networking.k8s.io/v1 HTTPRoute a/b"},
		},
		"the newest version that is served": {
			fake{
				gateway + "/v1": serving("httproutes"), gateway + "/v1/httproutes" + limit: pods(""),
				gateway + "/v1alpha3": serving("tlsroutes"), gateway + "/v1alpha2": serving("tlsroutes", "httproutes"),
				gateway + "/v1alpha3/tlsroutes" + limit: custom("gateway.networking.k8s.io/v1alpha3", "TLSRoute", "", "a"),
			},
			[]string{"gateway.networking.k8s.io/v1alpha3 TLSRoute a/a"},
		},
		"none of a kind": {fake{"/api/v1": serving("pods"), "/api/v1/pods" + limit: pods("")}, nil},
		"one may not be listed, and the others are": {
			fake{
				"/api/v1":                  serving("pods", "services"),
				"/api/v1/pods" + limit:     rejected + `403 "pods is forbidden: User \"a\" cannot"`,
				"/api/v1/services" + limit: custom("v1", "Service", "", "a"),
			},
			[]string{
				`error: pods: the list is incomplete: the API server answers 403: pods is forbidden: User "a" cannot`,
				"v1 Service a/a",
			},
		},
		"the revision of the first page is gone": {
			fake{
				"/api/v1": serving("pods"), "/api/v1/pods" + limit: pods("2", "a"),
				"/api/v1/pods" + next:                 rejected + `410 "too old" "new"`,
				"/api/v1/pods?continue=new&limit=500": pods("", "b"),
			},
			[]string{"v1 Pod a/a", "v1 Pod a/b"},
		},
		"and is not to be had otherwise": {
			fake{
				"/api/v1": serving("pods"), "/api/v1/pods" + limit: pods("2", "a"),
				"/api/v1/pods" + next: rejected + `410 "too old" ""`,
			},
			[]string{"v1 Pod a/a", "error: pods: the list is incomplete: the API server answers 410: too old"},
		},
		"the same page again": {
			fake{
				"/api/v1": serving("pods"), "/api/v1/pods" + limit: pods("2", "a"), "/api/v1/pods" + next: pods("2", "b"),
			},
			[]string{"v1 Pod a/a", "v1 Pod a/b", "error: pods: the list is incomplete: the API server returned the same " +
				"page again"},
		},
		"a page that breaks off": {
			fake{"/api/v1": serving("pods"), "/api/v1/pods" + limit: strings.TrimSuffix(pods("2", "a", "b"), "}}]}\n")},
			[]string{"v1 Pod a/a", "error: /api/v1/pods:1: item 2: the JSON is truncated: it ends before the object does"},
		},
		"an empty answer": {
			fake{"/api/v1": serving("pods"), "/api/v1/pods" + limit: ""}, []string{"error: /api/v1/pods: no object in it"},
		},
		"an aggregated API that does not answer": {
			fake{"/apis/route.openshift.io/v1": rejected + `503 "service unavailable"`},
			[]string{"error: routes.route.openshift.io: /apis/route.openshift.io/v1: the API server answers 503: " +
				"service unavailable"},
		},
		"another server": {
			fake{"/api/v1": "{}"},
			[]string{
				"error: pods: /api/v1: the response is not from an API server: it is not an APIResourceList",
				"error: services: /api/v1: the response is not from an API server: it is not an APIResourceList",
			},
		},
		"a resource without the verb list": {
			fake{"/api/v1": `{"kind":"APIResourceList","resources":[{"name":"pods","verbs":["get"]}]}`}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.server)
			defer server.Close()
			c, err := New(server.URL, "")
			must(t, err)
			got, _ := listed(t.Context(), c)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A kind whose CRD is added later is listed by the next run of the same client. Kinds that are not served are
// reported.
func TestObjectsOfLaterCRDs(t *testing.T) {
	cluster := fake{"/api/v1": serving("pods"), "/api/v1/pods" + limit: pods("", "a")}
	server := httptest.NewServer(cluster)
	defer server.Close()
	c, err := New(server.URL, "")
	must(t, err)
	var all []string
	for _, k := range admission.Kinds() {
		if name := resourceName(k.Kind); name != "pods" && !k.MakesPods {
			all = append(all, name)
		}
	}
	got, absent := listed(t.Context(), c)
	if want := []string{"v1 Pod a/a"}; !slices.Equal(got, want) || !slices.Equal(absent, all) {
		t.Errorf("got %q, and not %q; want %q, and not %q", got, absent, want, all)
	}
	cluster["/apis/cert-manager.io/v1"] = serving("certificates")
	cluster["/apis/cert-manager.io/v1/certificates"+limit] = custom("cert-manager.io/v1", "Certificate", "", "b")
	got, absent = listed(t.Context(), c)
	all = slices.DeleteFunc(all, func(name string) bool { return name == "certificates.cert-manager.io" })
	want := []string{"v1 Pod a/a", "cert-manager.io/v1 Certificate a/b"}
	if !slices.Equal(got, want) || !slices.Equal(absent, all) {
		t.Errorf("got %q, and not %q; want %q, and not %q", got, absent, want, all)
	}
}

// A consumer may stop at any object.
func TestObjectsStop(t *testing.T) {
	server := httptest.NewServer(fake{"/api/v1": serving("pods"), "/api/v1/pods" + limit: pods("2", "a", "b")})
	defer server.Close()
	c, err := New(server.URL, "")
	must(t, err)
	for object, err := range c.Objects(t.Context(), false) {
		if err != nil || object.Name != "a" {
			t.Fatal(object, err)
		}
		break
	}
}

// otherCA is a certificate that no server here uses.
const otherCA = `-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIUbTBMmvI3guqc+wu0Dd/u9EItBy0wCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTI0MDMxOTAwWhgPMjEyNjEwMzEwMzE5
MDBaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
aScVObbJuye0iWqeI6MN3DaeJktWmLHxJPckRxeXjqbYBBpWliZKrQkQ5TnPjfE7
OPACxW4SvHiF0UJPJo9w4KNTMFEwHQYDVR0OBBYEFE08n8xoD62Amsi0Kq4+aK8A
e0WZMB8GA1UdIwQYMBaAFE08n8xoD62Amsi0Kq4+aK8Ae0WZMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgCZqgjB2SV6H2w2MsoSOqwszg3L6uxaBE
Wosu9MlNKQMCIQCT3Ckyp8+WWEc/TJUf0ckcDbmDnXnng+ID0RK8SVmiCQ==
-----END CERTIFICATE-----
`

// The token is read again for each request, because kubelet replaces it. It is only sent to a server whose
// certificate the CA has signed.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	var shown []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Header.Get("Authorization"))
		write("token", fmt.Sprintf("token-%d\n", len(shown)+1))
		http.Redirect(w, r, "https://elsewhere.example", http.StatusFound)
	}))
	defer server.Close()
	write("token", "token-1\n")
	_, err := New(server.URL, dir)
	if err == nil || !strings.HasPrefix(err.Error(), "read the CA certificates of the API server: ") {
		t.Errorf("without ca.crt: %v", err)
	}
	write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	c, err := New(server.URL, dir)
	must(t, err)
	for range 2 {
		_, err := c.get(t.Context(), "/api/v1", nil)
		if err == nil || err.Error() != "the API server answers 302" {
			t.Errorf("a redirect: %v", err)
		}
	}
	if want := []string{"Bearer token-1", "Bearer token-2"}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
	write("ca.crt", otherCA)
	if c, err = New(server.URL, dir); err != nil {
		t.Fatal(err)
	}
	_, err = c.get(t.Context(), "/api/v1", nil)
	if err == nil || !strings.Contains(err.Error(), "x509: ") || len(shown) != 2 {
		t.Errorf("with certificates of another cluster: %v, shown %q", err, shown)
	}
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Header.Get("Authorization"))
	}))
	defer plain.Close()
	if c, err = New(plain.URL, dir); err != nil {
		t.Fatal(err)
	}
	if body, err := c.get(t.Context(), "/api/v1", nil); err != nil || body.Close() != nil || shown[len(shown)-1] != "" {
		t.Errorf("http:// is shown %q: %v", shown, err)
	}
}

func TestNewErrors(t *testing.T) {
	for _, server := range []string{
		"", "kubernetes.default.svc", "https://", "ftp://a", "https://a?b=c", "https://a:b@c", "%",
	} {
		_, err := New(server, t.TempDir())
		want := fmt.Sprintf("%q is not the URL of an API server: write https://kubernetes.default.svc, or "+
			"http://127.0.0.1:8001 for kubectl proxy", server)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v", server, err)
		}
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("none"), 0o600))
	_, err := New("https://a", dir)
	if want := "read the CA certificates of the API server: no certificate in " + dir; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// roundTrip is a transport without a network, for tests in fake time.
type roundTrip func() *http.Response

func (f roundTrip) RoundTrip(*http.Request) (*http.Response, error) { return f(), nil }

// A request that the API server sheds is sent again at the right time, up to the maximum number of attempts.
func TestShedding(t *testing.T) {
	answer := func(code int, wait string) *http.Response {
		return &http.Response{
			StatusCode: code, Header: http.Header{"Retry-After": {wait}},
			Body: io.NopCloser(strings.NewReader(`{"message":"too many requests"}`)),
		}
	}
	for name, test := range map[string]struct {
		answers int // with status 429 before the final one
		wait    string
		took    time.Duration
		err     string
	}{
		"none":            {0, "", 0, ""},
		"one":             {1, "3", 3 * time.Second, ""},
		"without a time":  {2, "", 2 * time.Second, ""},
		"a long time":     {1, "86400", maxRetryAfter, ""},
		"too often":       {attempts, "1", (attempts - 1) * time.Second, "the API server answers 429: too many requests"},
		"for too long":    {attempts, "30", answerTimeout, "the API server answers 429: too many requests"},
		"a negative time": {1, "-5", time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent, begin := 0, time.Now()
				c, err := New("http://a", "")
				must(t, err)
				c.transport = roundTrip(func() *http.Response {
					if sent++; sent <= test.answers {
						return answer(http.StatusTooManyRequests, test.wait)
					}
					return answer(http.StatusOK, "")
				})
				body, err := c.get(t.Context(), "/", nil)
				switch {
				case test.err == "" && err != nil, test.err != "" && (err == nil || err.Error() != test.err):
					t.Errorf("got %v, want %q", err, test.err)
				case err == nil:
					if err := body.Close(); err != nil {
						t.Error(err)
					}
				}
				if took := time.Since(begin); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
			})
		})
	}
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
