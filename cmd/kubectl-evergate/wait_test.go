package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
)

// podsOnly is an API server that only has Pods. It lists them. A Pod sees the new policy shownAfter nudges.
type podsOnly struct {
	kubernetes.Interface
	typed.CoreV1Interface
	typed.PodInterface

	names      []string
	shownAfter time.Duration
	listed     error

	mu     sync.Mutex
	nudged map[string]time.Time
}

func (p *podsOnly) CoreV1() typed.CoreV1Interface  { return p }
func (p *podsOnly) Pods(string) typed.PodInterface { return p }

func (p *podsOnly) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	list := &corev1.PodList{}
	for _, name := range p.names {
		list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return list, p.listed
}

func (p *podsOnly) Patch(
	_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Pod, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nudged[name].IsZero() {
		p.nudged[name] = time.Now()
	}
	return nil, nil
}

// policyOf returns the report of a replica about its policy.
func (p *podsOnly) policyOf(name string) live.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	if nudged := p.nudged[name]; !nudged.IsZero() && time.Since(nudged) >= p.shownAfter {
		return live.Policy{Hash: "new"}
	}
	return live.Policy{Hash: "old", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// Dial connects to a replica, which answers one request. A frozen replica does not accept connections.
func (p *podsOnly) Dial(ctx context.Context, pod string, _ int) (net.Conn, error) {
	if strings.HasPrefix(pod, "frozen") {
		<-ctx.Done()
		return nil, errors.New("it does not answer")
	}
	near, far := net.Pipe()
	go func() {
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(p.policyOf(pod))
		})}
		_ = server.Serve(&once{conn: far})
	}()
	return near, nil
}

// once is a listener for one connection.
type once struct{ conn net.Conn }

func (o *once) Accept() (net.Conn, error) {
	if o.conn == nil {
		return nil, io.EOF
	}
	conn := o.conn
	o.conn = nil
	return conn, nil
}

func (o *once) Close() error   { return nil }
func (o *once) Addr() net.Addr { return &net.TCPAddr{} }

// TestAwait checks that each replica is reported as soon as it has the policy, independently of other replicas.
func TestAwait(t *testing.T) {
	for _, test := range []struct {
		name      string
		cluster   *podsOnly
		timeout   time.Duration
		interrupt time.Duration // after which the context ends; 0 means never
		stdout    string
		err       string
	}{
		{
			name:    "all have it",
			cluster: &podsOnly{names: []string{"a", "b"}, shownAfter: time.Second},
			timeout: time.Minute,
			stdout:  "1 of 2: a has it after 1.5s\n2 of 2: b has it after 1.5s\n",
		},
		{
			name:    "one is frozen",
			cluster: &podsOnly{names: []string{"a", "b", "frozen"}, shownAfter: time.Second},
			timeout: 28 * time.Second,
			stdout:  "1 of 3: a has it after 1.5s\n2 of 3: b has it after 1.5s\n",
			err: "the policy new is applied, but 28s later some replicas do not have it:\n" +
				"frozen does not answer: context deadline exceeded",
		},
		{
			name:    "one is frozen, and the time is short",
			cluster: &podsOnly{names: []string{"a", "frozen"}, shownAfter: time.Second},
			timeout: 6 * time.Second,
			stdout:  "1 of 2: a has it after 1.5s\n",
			err:     "the policy new is applied, but 6s later some replicas do not have it:\nfrozen has not answered",
		},
		{
			name:    "kubelet is late",
			cluster: &podsOnly{names: []string{"a"}, shownAfter: time.Hour},
			timeout: 6 * time.Second,
			err: "the policy new is applied, but 6s later some replicas do not have it:\n" +
				"a has had old since 2026-01-02T03:04:05Z",
		},
		{
			name:    "interrupted",
			cluster: &podsOnly{names: []string{"frozen"}},
			timeout: time.Minute, interrupt: 2300 * time.Millisecond,
			err: "the policy new is applied, but 2.3s later some replicas do not have it:\nfrozen has not answered",
		},
		{
			name:    "no replica",
			cluster: &podsOnly{},
			timeout: time.Minute,
			err:     "there are no replicas: kubectl -n evergate-system get pods",
		},
		{
			name:    "the server is down",
			cluster: &podsOnly{listed: errors.New("connection refused")},
			timeout: time.Minute,
			err:     "list the replicas: connection refused",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.cluster.nudged = map[string]time.Time{}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.interrupt > 0 {
					time.AfterFunc(test.interrupt, cancel)
				}
				var stdout bytes.Buffer
				a := &app{stdout: &stdout, stderr: io.Discard, now: time.Now}
				err := a.await(ctx, &applyFlags{timeout: test.timeout},
					&live.Cluster{Client: test.cluster, Dialer: test.cluster, Namespace: "evergate-system"},
					&revise.Policies{Client: test.cluster}, "new")
				said := ""
				if err != nil {
					said = err.Error()
				}
				if said != test.err {
					t.Errorf("error %q, want %q", said, test.err)
				}
				// two replicas that get it at the same time may answer in any order
				either := strings.NewReplacer(": a has", ": it has", ": b has", ": it has")
				if either.Replace(stdout.String()) != either.Replace(test.stdout) {
					t.Errorf("%q, want %q", stdout.String(), test.stdout)
				}
			})
		})
	}
}
