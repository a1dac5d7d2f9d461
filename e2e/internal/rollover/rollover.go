// Package rollover replaces local replicas one after the other while kube-apiserver's webhook client calls them in
// bursts. It counts the calls. make demo-drain shows them, and a test records how many are lost over time.
package rollover

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/pki"
	"github.com/evergate/evergate/e2e/internal/process"
)

// Replicas is the number of replicas that serve at the same time.
const Replicas = 2

const policy = `
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, sources: [docker.io], mirror: mirror.corp.example/docker.io, mode: enforce}
`

// Drained returns flags for a drain that suits a Lag below two seconds.
func Drained() []string { return []string{"--drain-delay=2s", "--drain-timeout=5s"} }

// Undrained returns flags that disable the drain, as in the control run of incident I1.
func Undrained() []string {
	return []string{"--drain-delay=0s", "--drain-timeout=1ms", "--shutdown-timeout=1ms"}
}

// Options describe the replicas, the load and the cluster.
type Options struct {
	Binary string   // of the server. It has the flags and the log of evergate serve
	Args   []string // flags in addition to the certificate and the policy
	Rate   int      // bursts per second

	// Lag is the time that the nodes of a cluster need to remove an endpoint. It begins together with PreStop.
	Lag     time.Duration
	PreStop time.Duration // the time before SIGTERM, as of a sleep in the preStop hook of a Pod
}

// Cluster is a Service with replicas and a client that calls it.
type Cluster struct {
	options  Options
	dir      string
	service  *client.Service
	tls      *pki.Mount
	replicas []*process.Process // the oldest first
	old      []*process.Process // replaced replicas
	load     *client.Load
	sent     atomic.Int64
}

// Start starts the replicas and the load. The caller must call Stop. The replicas run until then, or until ctx ends.
func Start(ctx context.Context, o Options) (c *Cluster, err error) {
	c = &Cluster{options: o, service: client.NewService("evergate", "evergate-system")}
	if c.dir, err = os.MkdirTemp("", "evergate-rollover-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	ca, err := pki.NewCA("evergate-ca")
	if err != nil {
		return nil, err
	}
	leaf, err := ca.Leaf(c.service.DNSName())
	if err != nil {
		return nil, err
	}
	c.tls = &pki.Mount{Dir: filepath.Join(c.dir, "tls")}
	if err := c.tls.WritePair(ca, leaf); err != nil {
		return nil, err
	}
	if err := os.WriteFile(c.policy(), []byte(policy), 0o600); err != nil {
		return nil, err
	}
	for range Replicas {
		if err := c.add(ctx); err != nil {
			return nil, err
		}
	}
	c.route(c.replicas)
	apiServer, err := client.New(c.service, ca.PEM, client.ClusterIP, 10*time.Second)
	if err != nil {
		return nil, err
	}
	c.start(ctx, apiServer)
	return c, nil
}

func (c *Cluster) policy() string { return filepath.Join(c.dir, "policy.yaml") }

// add starts a replica and waits until it is ready.
func (c *Cluster) add(ctx context.Context) error {
	p, err := process.Start(ctx, c.options.Binary, append([]string{
		"--tls-cert", filepath.Join(c.tls.Dir, "tls.crt"), "--tls-key", filepath.Join(c.tls.Dir, "tls.key"),
		"--service-name", c.service.DNSName(), "--policy", c.policy(),
	}, c.options.Args...)...)
	if err != nil {
		return err
	}
	c.replicas = append(c.replicas, p)
	return p.AwaitReady(ctx)
}

// route makes the replicas the endpoints of the Service.
func (c *Cluster) route(replicas []*process.Process) {
	var endpoints []string
	for _, p := range replicas {
		endpoints = append(endpoints, p.Addr)
	}
	c.service.Set(endpoints...)
}

// Burst is the number of calls that begin together, as when a Deployment is scaled. The client then uses as many
// connections.
const Burst = 20

// start starts the load.
func (c *Cluster) start(ctx context.Context, apiServer *client.Client) {
	const workers = 2 * Burst // a slow call does not delay the next burst
	begun := time.Now()
	c.load = client.Start(ctx, apiServer, workers, func(ctx context.Context, i int64) error {
		due := begun.Add(time.Duration(i/Burst) * time.Second / time.Duration(c.options.Rate))
		time.Sleep(time.Until(due))
		c.sent.Add(1)
		return rewrite(ctx, apiServer)
	})
}

// rewrite sends the creation of a Pod and checks that the response rewrites its image.
func rewrite(ctx context.Context, apiServer *client.Client) error {
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","namespace":"team-a"},` +
		`"spec":{"containers":[{"name":"web","image":"nginx:1.25","resources":{}}]},"status":{}}`
	answer, err := apiServer.Call(ctx, "/mutate/pods", true, &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       uuid.NewUUID(),
			Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Namespace: "team-a", Operation: admissionv1.Create,
			Object: runtime.RawExtension{Raw: json.RawMessage(pod)},
		},
	})
	if err == nil && !bytes.Contains(answer.Patch, []byte("mirror.corp.example/docker.io/library/nginx:1.25")) {
		err = fmt.Errorf("the patch does not rewrite the image: %s", answer.Patch)
	}
	return err
}

// Replace replaces the oldest replica, like a rolling update with maxSurge 1 and maxUnavailable 0. A new replica
// becomes ready and an endpoint. Then Replace calls terminating, and the old replica gets SIGTERM after PreStop. It
// remains an endpoint for Lag. Replace does not wait until it has ended.
func (c *Cluster) Replace(ctx context.Context, terminating func()) error {
	if err := c.add(ctx); err != nil {
		return err
	}
	c.route(c.replicas)
	old := c.replicas[0]
	c.replicas, c.old = c.replicas[1:], append(c.old, old)
	terminating()
	terminated := make(chan error, 1)
	go func() {
		time.Sleep(c.options.PreStop)
		terminated <- old.Terminate()
	}()
	time.Sleep(c.options.Lag)
	c.route(c.replicas)
	return <-terminated
}

// After returns a channel that is closed when n more calls have ended.
func (c *Cluster) After(n int64) <-chan struct{} { return c.load.After(n) }

// Drained waits until all replaced replicas have ended.
func (c *Cluster) Drained(ctx context.Context) error {
	for _, p := range c.old {
		select {
		case <-p.Done():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Counts are the numbers of calls so far.
type Counts struct{ Sent, Answered, Lost int64 }

// Counts returns the numbers of calls so far. Calls in progress are sent, and neither answered nor lost.
func (c *Cluster) Counts() Counts {
	books := c.load.Books()
	return Counts{Sent: c.sent.Load(), Answered: books.Calls - books.Failures, Lost: books.Failures}
}

// Stop ends the load, waits for the calls in progress, and then ends the replicas.
func (c *Cluster) Stop() client.Report {
	report := c.load.Stop()
	c.end()
	return report
}

func (c *Cluster) end() {
	for _, p := range append(c.old, c.replicas...) {
		_ = p.Signal(os.Kill) // an error means that it has ended
		<-p.Done()
	}
	_ = os.RemoveAll(c.dir)
}
