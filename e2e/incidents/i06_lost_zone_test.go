package incidents

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/cluster"
	"github.com/evergate/evergate/e2e/load"
)

// I6, kubernetes issue 80313: a zone was cut off, and all calls hung on one multiplexed connection into it for as long as its
// kernel believed in it.

// single is a namespace that has opted in and gets no second chance.
const single = "single-a"

// zonal is the kit with quick retirement of connections, to see the load come back within the test, and without the second chance
// for one namespace.
func zonal() cluster.Product {
	p := cluster.Product{Patches: []string{`- target: {kind: MutatingWebhookConfiguration, name: evergate}
  patch: |-
    - {op: test, path: /webhooks/1/name, value: again.pods.mutate.evergate.dev}
    - {op: add, path: /webhooks/1/namespaceSelector/matchExpressions/1/values/-, value: ` + single + `}`}}
	if !long() {
		p.Patches = append(p.Patches, flag("--max-connection-age=20s"))
	}
	return p
}

func TestI6(t *testing.T) {
	const guard = "HTTP/1.1, short timeouts, replicas in three zones, a second chance over a pool of its own"
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
			in := incident{id: "I6", what: test.what, guard: guard, product: zonal()}
			in.happen = func(t *testing.T, l *lab, _ bool) outcome { return test.trouble.happen(t, l, in) }
			try(t, in) // its controls are the callers beside it: over HTTP/2, and without the second chance
		})
	}
}

// trouble is what becomes of a node.
type trouble struct {
	begin, end func(c *cluster.Cluster, t testing.TB, node string)
	lasts      time.Duration // at least until the endpoint is gone and what it costs is over
	http2      bool          // a caller over HTTP/2 is beside it
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
	victim, err := onNode(l.awaitReplicas(t, 3), node)
	must(t, err)
	all := l.start(t)
	alone := load.Start(t.Context(), apiCallers/2, l.pods(t, single))
	t.Cleanup(func() { alone.Stop() })
	<-alone.After(20)

	begun := time.Now()
	tr.begin(l.Cluster, t, node)
	gone := l.endpointGone(t, victim.Status.PodIP)
	pause(t.Context(), max(time.Until(begun.Add(tr.lasts)), time.Until(gone.Add(settled+10*time.Second))))
	later := l.failedCalls(t, all.before)
	if over2 != nil {
		o := over2.stop(begun, gone)
		in.control(t, "HTTP/2: a server and a client of our own", o, time.Since(begun))
	}
	var o outcome
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
	o.add(all.bounded(t, begun, gone))
	in.secondChance(t, &o, all.api.Books(), alone.Books(), time.Since(begun))
	return o
}

// secondChance compares Pods with it and without it, which were created at the same time.
func (in incident) secondChance(t *testing.T, o *outcome, with, without load.Books, took time.Duration) {
	t.Helper()
	missed := func(b load.Books) int { return b.Reasons[errNotRewritten.Error()] }
	o.figure("Pods that were not rewritten", "%d, of %d requests, half of which are Pods", missed(with), with.Calls)
	var alone outcome
	alone.figure("Pods that were not rewritten", "%d of %d", missed(without), without.Calls)
	if missed(without) > 0 {
		alone.breaks("%d Pods were not rewritten", missed(without))
	}
	in.control(t, "no second chance, in a namespace beside it", alone, took)
}

// awaitBalance waits until every replica has been called by the API server since the calls were last counted, and says how long
// after an event that was. The callers beside it rewrite Pods only, so that Services are the API server's.
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
