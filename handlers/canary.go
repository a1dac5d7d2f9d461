package handlers

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// Canary is the process's own caller. It sends a review to each path through the real listener and knows the right
// answers, so that a process that answers them serves. Its reviews are judged by a policy that is built in, whatever
// the users' policy says, in a place of their own: they are neither counted nor logged, and find room when there is
// none for others, since a process that is busy is not one that is broken.
type Canary struct {
	secret string
	policy *policy.Policy
}

// canaryHeader carries a secret that is made anew in every process, so that nobody else can call as the canary.
const canaryHeader = "Evergate-Canary"

// canaryPolicy has one entry for each kind of object that is judged. The canary's objects meet each of them.
const canaryPolicy = `
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- name: canary-mirror
  sources: [source.canary.invalid]
  mirror: mirror.canary.invalid
  mode: enforce
pods:
- name: canary-pods
  mode: enforce
  images: {from: mirrors}
ingresses:
- name: canary-ingresses
  mode: enforce
  hosts: {allowed: [allowed.canary.invalid]}
services:
- name: canary-services
  mode: enforce
  types: {allowed: [ClusterIP]}
`

// NewCanary returns a canary with a new secret.
func NewCanary() (*Canary, error) {
	p, err := policy.Load(policy.File{Name: "canary.yaml", Data: []byte(canaryPolicy)})
	if err != nil {
		return nil, fmt.Errorf("the policy of the canary: %w", err)
	}
	return &Canary{secret: rand.Text(), policy: p}, nil
}

// Current implements Policies.
func (c *Canary) Current() *policy.Policy { return c.policy }

// divert returns next for everybody else, and the same routes with a server of their own for the canary, which must be an
// accepted caller like all others. Its reviews that never come back are counted with those of others.
func (c *Canary) divert(next http.Handler, authenticate func(http.Handler) http.Handler, overdue *Overdue) http.Handler {
	ok := func() error { return nil }
	cfg := Config{
		Policies:     c,
		Authenticate: authenticate,

		Ready:   ok,
		Live:    ok,
		Overdue: overdue,
		Metrics: telemetry.NewMetrics(prometheus.NewRegistry()),
		Log:     slog.New(slog.DiscardHandler),
	}
	own := serving(cfg, newServer(cfg), reviews())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.Sent(r) {
			own.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Sent says whether r comes from this canary. Only what holds its secret does.
func (c *Canary) Sent(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(header(r, canaryHeader)), []byte(c.secret)) == 1
}

// canaryReview is one review of the canary and what tells the right answer from others.
type canaryReview struct {
	path   string
	review string // with %s for the uid
	patch  bool   // the right answer carries a patch; otherwise it is a denial
}

func canaryReviews() []canaryReview {
	pod := canaryBody("", "v1", "Pod", "pods",
		`"spec": {"containers": [{"name": "canary", "image": "source.canary.invalid/canary:1"}]}`)
	service := canaryBody("", "v1", "Service", "services", `"spec": {"type": "NodePort"}`)
	return []canaryReview{
		{"/mutate/pods", pod, true},
		{"/mutate/pods/again", pod, true},
		{"/validate/pods", pod, false},
		{"/validate/ingresses", canaryBody("networking.k8s.io", "v1", "Ingress", "ingresses",
			`"spec": {"rules": [{"host": "denied.canary.invalid"}]}`), false},
		{"/validate/services", service, false},
		{"/validate/services/status", service, false},
		{"/validate/policy", canaryBody("", "v1", "ConfigMap", "configmaps", `"data": {"canary.yaml": "kind: Canary"}`), false},
	}
}

func canaryBody(group, version, kind, resource, content string) string {
	return fmt.Sprintf(`{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
		"uid": "%%s",
		"kind": {"group": "%[1]s", "version": "%[2]s", "kind": "%[3]s"},
		"resource": {"group": "%[1]s", "version": "%[2]s", "resource": "%[4]s"},
		"name": "canary", "namespace": "canary", "operation": "CREATE",
		"userInfo": {"username": "evergate:canary"},
		"object": {"apiVersion": "%[5]s", "kind": "%[3]s", "metadata": {"name": "canary", "namespace": "canary"}, %[6]s},
		"oldObject": null, "dryRun": true
	}}`, group, version, kind, resource, strings.TrimPrefix(group+"/"+version, "/"), content)
}

// Check sends a review to each path under baseURL, as in https://127.0.0.1:8443, and returns an error when one is not
// answered as it should be. It leaves no idle connection behind. When ctx or the client's timeout ended the wait, the
// error is a timeout in the sense of net.Error; every other error means that something did answer, or refused to.
func (c *Canary) Check(ctx context.Context, client *http.Client, baseURL string) error {
	defer client.CloseIdleConnections()
	for _, r := range canaryReviews() {
		if err := c.check(ctx, client, baseURL, r); err != nil {
			return fmt.Errorf("canary review to %s: %w", r.path, err)
		}
	}
	return nil
}

func (c *Canary) check(ctx context.Context, client *http.Client, baseURL string, r canaryReview) error {
	uid := rand.Text()
	body := strings.NewReader(fmt.Sprintf(r.review, uid))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+r.path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(canaryHeader, c.secret)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxCanaryAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(answer))
	}
	return r.verify(uid, answer)
}

// maxCanaryAnswer is many times the length of the right answers.
const maxCanaryAnswer = 64 << 10

// verify checks an answer as kube-apiserver does, and that it is the answer to this review.
func (r canaryReview) verify(uid string, body []byte) error {
	var a struct {
		APIVersion, Kind string
		Response         *struct {
			UID              string
			Allowed          bool
			Patch, PatchType string
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	switch {
	case a.APIVersion != "admission.k8s.io/v1" || a.Kind != "AdmissionReview":
		return fmt.Errorf("the answer is a %s %s, not an admission.k8s.io/v1 AdmissionReview", a.APIVersion, a.Kind)
	case a.Response == nil:
		return fmt.Errorf("the answer has no response")
	case a.Response.UID != uid:
		return fmt.Errorf("the answer is for the uid %s, not for %s", text.Quote(a.Response.UID), text.Quote(uid))
	case a.Response.Allowed != r.patch:
		return fmt.Errorf("the answer says allowed: %t", a.Response.Allowed)
	case (a.Response.Patch != "") != r.patch || (a.Response.PatchType == "JSONPatch") != r.patch:
		return fmt.Errorf("the answer has a patch of type %s and %d bytes", text.Quote(a.Response.PatchType), len(a.Response.Patch))
	}
	return nil
}
