// Package selfprobe sends reviews from the process to itself. It sends a review to each path through the real listener
// and compares the responses with the right ones. If the self-probe passes, the process can serve.
package selfprobe

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// Prober sends the reviews. They are decided by a built-in policy, whatever the users' policy is, and are served
// separately from all others, below Prefix. They are not counted or logged, and have separate slots, because a busy
// process is not a broken process. Use New to create a Prober.
type Prober struct {
	prefix string
	policy *policy.Policy
}

// New returns a prober with a new secret.
func New() (*Prober, error) {
	p, err := policy.Load(policy.File{Name: "selfprobe.yaml", Data: []byte(admission.SelfProbePolicy())})
	if err != nil {
		return nil, fmt.Errorf("the policy of the self-probe: %w", err)
	}
	return &Prober{prefix: "/self-probe/" + rand.Text(), policy: p}, nil
}

// Current returns the policy that decides the reviews.
func (p *Prober) Current() *policy.Policy { return p.policy }

// Prefix returns the path below which the reviews are served, such as /self-probe/SECRET. It is different in every
// process, so no other client can call it.
func (p *Prober) Prefix() string { return p.prefix }

// Sent reports whether r comes from this prober.
func (p *Prober) Sent(r *http.Request) bool {
	path := r.URL.Path
	return len(path) > len(p.prefix) && subtle.ConstantTimeCompare([]byte(path[:len(p.prefix)]), []byte(p.prefix)) == 1
}

// reviewOf returns a review for a webhook, with %s for the uid. The self-probe's policy rewrites or denies its object.
func reviewOf(w *admission.Webhook) string {
	of := w.Kinds[0].Resource
	return fmt.Sprintf(`{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
		"uid": "%%s",
		"kind": {"group": "%[1]s", "version": "%[2]s", "kind": "%[3]s"},
		"resource": {"group": "%[1]s", "version": "%[2]s", "resource": "%[4]s"},
		"name": "selfprobe", "namespace": "selfprobe", "operation": "CREATE",
		"userInfo": {"username": "evergate:selfprobe"},
		"object": {"apiVersion": "%[5]s", "kind": "%[3]s",
			"metadata": {"name": "selfprobe", "namespace": "selfprobe"}, %[6]s},
		"oldObject": null, "dryRun": true
	}}`, of.Group, of.Version, w.Kinds[0].Name, of.Name, of.APIVersion(), w.SelfProbe)
}

// Check sends a review to each path under baseURL, such as https://127.0.0.1:8443. It returns an error if a response is
// wrong or missing, and does not leave an idle connection. If ctx or the client's timeout ended the wait, the error is
// a timeout in the sense of net.Error. Any other error means that the process responded, or did not accept the
// connection. Check does not call the paths of rule sets, because their handlers are the same and only the rules
// differ.
func (p *Prober) Check(ctx context.Context, client *http.Client, baseURL string) error {
	defer client.CloseIdleConnections()
	for _, w := range admission.Webhooks() {
		if err := p.check(ctx, client, baseURL, &w); err != nil {
			return fmt.Errorf("self-probe of %s: %w", w.Path, err)
		}
	}
	return nil
}

func (p *Prober) check(ctx context.Context, client *http.Client, baseURL string, w *admission.Webhook) error {
	uid := rand.Text()
	body := strings.NewReader(fmt.Sprintf(reviewOf(w), uid))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+p.prefix+w.Path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(answer))
	}
	return verify(uid, answer, w.Mutates)
}

// maxAnswer is many times the length of a right response.
const maxAnswer = 64 << 10

// verify checks a response as kube-apiserver does. It also checks that it is the right response to the review with this
// uid: a patch if the webhook mutates, otherwise a denial.
func verify(uid string, body []byte, patch bool) error {
	var a struct {
		APIVersion, Kind string
		Response         *struct {
			UID              string
			Allowed          bool
			Patch, PatchType string
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("the response is not JSON: %w", err)
	}
	switch {
	case a.APIVersion != "admission.k8s.io/v1" || a.Kind != "AdmissionReview":
		return fmt.Errorf("the response is a %s %s, not an admission.k8s.io/v1 AdmissionReview", a.APIVersion, a.Kind)
	case a.Response == nil:
		return fmt.Errorf("the response field is missing")
	case a.Response.UID != uid:
		return fmt.Errorf("the response has the uid %s, not %s", text.Quote(a.Response.UID), text.Quote(uid))
	case a.Response.Allowed != patch:
		return fmt.Errorf("the response has allowed: %t", a.Response.Allowed)
	case (a.Response.Patch != "") != patch || (a.Response.PatchType == "JSONPatch") != patch:
		return fmt.Errorf("the response has a patch of type %s and %d bytes",
			text.Quote(a.Response.PatchType), len(a.Response.Patch))
	}
	return nil
}
