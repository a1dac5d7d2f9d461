package incidents

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// answers counts the results of forbidden objects. The API server cuts off a creation after 34 seconds
// (requestTimeoutUpperBound in k8s.io/apiserver/pkg/endpoints/handlers), and creates nothing then.
type answers struct{ denied, letIn, failed, cutOff, other atomic.Int64 }

func (a *answers) String() string {
	return fmt.Sprintf("%d denied, %d allowed, %d failed for the webhook, %d cut off by the API server, %d otherwise",
		a.denied.Load(), a.letIn.Load(), a.failed.Load(), a.cutOff.Load(), a.other.Load())
}

// keptOut returns the number of objects that were denied or cut off.
func (a *answers) keptOut() int64 { return a.denied.Load() + a.cutOff.Load() }

// breaks records the forbidden objects that were admitted.
func (a *answers) breaks(o *outcome, what string) {
	if n := a.letIn.Load(); n > 0 {
		o.breaks("%s: %d forbidden ones allowed, of %s", what, n, a)
	}
}

// attacker repeats one request. It has a connection for each concurrent request, so no request waits for the body of
// another.
type attacker struct {
	client      *http.Client
	method, url string
	kind        string // content type of the body
	body        []byte
	seen        answers
}

func newAttacker(t *testing.T, config *rest.Config, method, path, kind string, body []byte) *attacker {
	t.Helper()
	conf, err := rest.TLSConfigFor(config)
	must(t, err)
	transport := &http.Transport{TLSClientConfig: conf, MaxIdleConnsPerHost: noisyClients, ForceAttemptHTTP2: false}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: time.Minute} // longer than any request here takes
	return &attacker{client: client, method: method, url: config.Host + path + "?dryRun=All", kind: kind, body: body}
}

// creates returns an attacker that creates an object in a namespace.
func (c costly) creates(t *testing.T, config *rest.Config, namespace string) *attacker {
	t.Helper()
	return newAttacker(t, config, http.MethodPost, fmt.Sprintf(c.path, namespace), "application/json", c.body)
}

// call sends the request and counts the result. It returns an error if the API server did not respond.
func (a *attacker) call(ctx context.Context, _ int64) error {
	req, err := http.NewRequestWithContext(ctx, a.method, a.url, bytes.NewReader(a.body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", a.kind)
	resp, err := a.client.Do(req)
	if err != nil {
		a.seen.other.Add(1)
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		a.seen.letIn.Add(1)
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	text, err := io.ReadAll(resp.Body)
	switch {
	case bytes.Contains(text, []byte("denied the request")), // by a webhook
		bytes.Contains(text, []byte("denied request: ")): // by a native policy
		a.seen.denied.Add(1)
	case bytes.Contains(text, []byte("failed calling webhook")):
		a.seen.failed.Add(1)
	case resp.StatusCode == http.StatusGatewayTimeout:
		a.seen.cutOff.Add(1)
	default:
		a.seen.other.Add(1)
		if err == nil {
			err = fmt.Errorf("%s: %.300s", resp.Status, message(text))
		}
	}
	return err
}

// tenant returns the client configuration of a user who may only create objects in one namespace.
func (l *lab) tenant(t *testing.T, name, namespace string) *rest.Config {
	t.Helper()
	l.Kubectl(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s, namespace: %[2]s}
rules:
- {apiGroups: [""], resources: [pods, services], verbs: [create]}
- {apiGroups: [networking.k8s.io], resources: [ingresses], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, name, namespace), "apply", "-f", "-")
	l.undo(t, "-n", namespace, "delete", "role,rolebinding", name, "--ignore-not-found")
	config := l.User(name)
	one := small().creates(t, config, namespace)
	l.await(t, "the rights of "+name, time.Minute, func(ctx context.Context) error { return one.call(ctx, 0) })
	return config
}
