package incidents

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/load"
)

// I6, kubernetes issue 80313: a zone was cut off, and all calls hung on one multiplexed connection into it until the
// kernel gave up the connection.
//

// single is a namespace that has opted in but does not use the retry webhook.
const single = "single-a"

// zonal returns the manifests with a short maximum connection age, which shows the load return within the test, and
// without the retry webhook for one namespace. A replica that was replaced while its zone was lost drains when the zone
// is healed. After the 30 s of the manifests, a rarely used connection may still be open, and lose the call that is
// written while it is closed. A drain that is longer than the client's 90 s does not have this problem.
func zonal() cluster.Product {
	p := cluster.Product{Patches: []string{`- target: {kind: MutatingWebhookConfiguration, name: evergate}
  patch: |-
    - {op: test, path: /webhooks/1/name, value: again.pods.mutate.evergate.dev}
    - {op: add, path: /webhooks/1/namespaceSelector/matchExpressions/1/values/-, value: ` + single + `}`,
		`- target: {kind: Deployment, name: evergate}
  patch: |-
    - {op: replace, path: /spec/template/spec/terminationGracePeriodSeconds, value: 120}`, flag("--drain-timeout=95s")}}
	if !long() {
		p.Patches = append(p.Patches, flag("--max-connection-age=10s"))
	}
	return p
}

// firstLost breaks the first mutating calls, but not those of the retry webhook.
const firstLost = `- target: {kind: MutatingWebhookConfiguration, name: evergate}
  patch: |-
    - {op: replace, path: /webhooks/0/clientConfig/service/path, value: /nowhere}`

func TestI6(t *testing.T) {
	const guard = "HTTP/1.1, short timeouts, replicas in three zones, a retry webhook with separate connections"
	for _, test := range []struct {
		name, what string
		trouble    trouble
	}{
		{"cut", "every packet of a zone is dropped, then it is healed", trouble{
			begin: (*cluster.Cluster).Cut, end: (*cluster.Cluster).Heal, lasts: lasting(0, 20*time.Minute), http2: true,
		}},
		{"killed", "a node is switched off", trouble{begin: (*cluster.Cluster).Off, end: (*cluster.Cluster).On}},
		{"frozen", "a node freezes, and thaws", trouble{begin: (*cluster.Cluster).Freeze, end: (*cluster.Cluster).Thaw}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := incident{id: "I6", what: test.what, guard: guard, product: zonal(), controls: test.trouble.http2, long: true}
			in.happen = func(t *testing.T, l *lab, _ bool) outcome { return test.trouble.happen(t, l, in) }
			try(t, in) // the control run is the HTTP/2 client next to the first client
		})
	}
	t.Run("retry webhook", func(t *testing.T) {
		lost := []string{firstLost}
		try(t, incident{
			id: "I6", what: "every call on the first path is lost",
			guard:   "a retry webhook with a separate path, and therefore separate connections",
			happen:  func(t *testing.T, l *lab, _ bool) outcome { return loseFirst(t, l, lost) },
			lacking: "no retry webhook",
			without: func(*testing.T, *lab) { lost = []string{notRewritten} },
		})
	})
}

// trouble is a failure of a node.
type trouble struct {
	begin, end func(c *cluster.Cluster, t testing.TB, node string)
	lasts      time.Duration // at least until the endpoint is removed and its effects are over
	http2      bool          // an HTTP/2 client runs next to it
}

func (tr trouble) happen(t *testing.T, l *lab, in incident) outcome {
	l.NeedRig(t, "makes trouble for a node")
	l.namespace(t, single, "enabled")
	node := l.Nodes(t)[1].Name
	var over2 *multiplexed
	if tr.http2 {
		over2 = l.startHTTP2(t)
		node = over2.node
	}
	victim := l.replicaOn(t, node)
	all := l.start(t)
	alone := load.Start(t.Context(), apiClients/2, l.pods(t, single))
	t.Cleanup(func() { alone.Stop() })
	<-alone.After(20)

	begun := time.Now()
	tr.begin(l.Cluster, t, node)
	gone := l.endpointGone(t, victim.Status.PodIP)
	pause(t.Context(), time.Until(gone.Add(settled)))
	soon := l.failedCalls(t, all.before)
	pause(t.Context(), max(time.Until(begun.Add(tr.lasts)), 10*time.Second))
	later := l.failedCalls(t, all.before)
	if over2 != nil {
		o := over2.stop(begun, gone)
		in.control(t, "HTTP/2: a server and a client of our own", o, time.Since(begun))
	}
	var o outcome
	if late := sum(later) - sum(soon); late > 0 {
		o.breaks("%.0f calls by the API server failed more than %s after the endpoint was gone", late, settled)
	}
	o.figure("out of the endpoints", "%s after it began", gone.Sub(begun).Round(time.Second))
	o.figure("lasted", "%s", time.Since(begun).Round(time.Second))

	healed := time.Now()
	tr.end(l.Cluster, t, node)
	l.settle(t)
	o.figure("three replicas Ready", "%s after it ended", time.Since(healed).Round(time.Second))
	o.figure("all replicas called by the API server again", "%s after it ended", l.awaitBalance(t, healed))
	if after := sum(l.failedCalls(t, all.before)) - sum(later); after > 0 {
		o.breaks("%.0f calls by the API server failed when it was over", after)
	}
	alone.Stop()
	o.add(all.bounded(t, begun, gone, healed))
	with, without := all.api.Books(), alone.Books()
	o.figure("Pods that were not rewritten", "%d, and half of the %d requests were for Pods", missed(with), with.Calls)
	o.figure("the same in a namespace without the retry webhook", "%d of %d", missed(without), without.Calls)
	return o
}

// replicaOn returns the replica on a node. If there is none, because it was replaced on another node while its zone was
// lost, replicaOn restarts all replicas, which spreads them again.
func (l *lab) replicaOn(t *testing.T, node string) *corev1.Pod {
	t.Helper()
	if p := onNode(l.awaitReplicas(t, 3), node); p != nil {
		return p
	}
	l.Kubectl(t, "", "-n", system, "rollout", "restart", deployment)
	l.settle(t)
	p := onNode(l.awaitReplicas(t, 3), node)
	if p == nil {
		t.Fatalf("no replica runs on %s", node)
	}
	return p
}

// missed returns how many Pods were admitted without being rewritten.
func missed(b load.Books) int { return b.Reasons[errNotRewritten.Error()] }

// loseFirst creates Pods while every call of the first mutating webhook fails, like calls on pooled connections to a
// lost node.
func loseFirst(t *testing.T, l *lab, patches []string) outcome {
	const pods = 100
	l.Install(t, cluster.Product{Patches: patches})
	before := l.apiServer(t)
	create := l.pods(t, team)
	l.await(t, "the first call to fail", time.Minute, func(ctx context.Context) error {
		if err := create(ctx, 0); err != nil && !errors.Is(err, errNotRewritten) {
			return err
		}
		if sum(l.failedCalls(t, before)) == 0 {
			return errors.New("it does not")
		}
		return nil
	})
	var o outcome
	written := 0
	for n := range pods {
		err := create(t.Context(), int64(n))
		if errors.Is(err, errNotRewritten) {
			written++
		} else if err != nil {
			o.breaks("a Pod: %v", err)
		}
	}
	o.figure("Pods that were not rewritten", "%d of %d", written, pods)
	if written > 0 {
		o.breaks("%d Pods of %d were not rewritten", written, pods)
	}
	return o
}

// awaitBalance waits until the API server has called every replica since the last count, and returns how long that took
// after an event. The other clients only rewrite Pods, so the calls for Services are from the API server.
func (l *lab) awaitBalance(t *testing.T, event time.Time) time.Duration {
	t.Helper()
	before := map[string]float64{}
	l.await(t, "every replica to be called", 15*time.Minute, func(ctx context.Context) error {
		replicas, err := l.readyReplicas(ctx, 3)
		if err != nil {
			return err
		}
		called := 0
		for _, p := range replicas {
			set, err := l.count(ctx, p.Name)
			if err != nil {
				return err
			}
			n := set.Sum("evergate_reviews_total", map[string]string{"path": "/validate/services"})
			was, known := before[p.Name]
			if !known {
				before[p.Name] = n
			} else if n > was {
				called++
			}
		}
		if called < len(replicas) {
			return fmt.Errorf("%d of them have been", called)
		}
		return nil
	})
	return time.Since(event).Round(time.Second)
}
