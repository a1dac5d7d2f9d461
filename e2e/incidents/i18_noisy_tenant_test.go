package incidents

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/load"
	"github.com/evergate/evergate/e2e/internal/metrics"
)

// I18: one tenant created objects that were so costly to review that the reviews of all other tenants timed out. If a
// review times out, its object is admitted unchecked, or the request fails.

func TestI18(t *testing.T) {
	for _, overlay := range []string{"fail-open", "fail-closed"} {
		t.Run(overlay, func(t *testing.T) {
			product := cluster.Product{Overlay: overlay}
			in := incident{
				id: "I18", what: "a tenant creates costly objects, 24 at once, while others create theirs; " + overlay,
				guard: "the cost of a review is limited", product: product, long: true,
				happen: func(t *testing.T, l *lab, control bool) outcome { return noise(t, l, product, control) },
			}
			if overlay == "fail-open" { // more is lost there: an object whose review is late is admitted
				in.lacking = "the revision before these limits"
				in.without = func(t *testing.T, l *lab) { l.Install(t, l.unbounded(t, product)) }
			}
			try(t, in)
		})
	}
	// The same attack on a backstop. The expressions of its policies are evaluated by the API server, for all tenants.
	t.Run("backstop", func(t *testing.T) {
		try(t, incident{
			id: "I18", what: "the same with a backstop and no replica; fail-open",
			guard: "the cost of an expression is limited", product: cluster.Product{Overlay: "fail-open"}, long: true,
			happen: func(t *testing.T, l *lab, _ bool) outcome { return noiseOnBackstop(t, l, false) },
		})
	})
	t.Run("backstop with replicas", func(t *testing.T) {
		try(t, incident{
			id: "I18", what: "the same with a backstop and three replicas; fail-closed",
			guard: "the cost of a review and of an expression is limited", product: cluster.Product{Overlay: "fail-closed"},
			long:   true,
			happen: func(t *testing.T, l *lab, _ bool) outcome { return noiseOnBackstop(t, l, true) },
		})
	})
}

const (
	noisyClients  = 24 // concurrent clients of the attack: all slots of three replicas on two cores
	honestClients = 4
	// noisyPause is the time between two creations of a legitimate client, and of forbidden objects that are cheap. It
	// leaves the cores to the attack.
	noisyPause = 20 * time.Millisecond
)

// crowd contains the clients that create objects in the incident.
type crowd struct {
	jane   *rest.Config // in the namespace noisy
	honest *waits       // of another tenant
	small  *attacker    // forbidden objects by jane that are cheap to review
}

// waits records how long legitimate creations took.
type waits struct {
	create call
	mu     sync.Mutex
	took   []time.Duration
}

func (w *waits) call(ctx context.Context, n int64) error {
	begun := time.Now()
	err := w.create(ctx, n)
	w.mu.Lock()
	w.took = append(w.took, time.Since(begun))
	w.mu.Unlock()
	pause(ctx, noisyPause)
	return err
}

// quantile returns the time within which a share of the creations ended. took must be sorted.
func quantile(took []time.Duration, share float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return took[min(int(share*float64(len(took))), len(took)-1)].Round(100 * time.Microsecond)
}

// noise makes the incident happen with each costly object in turn. A complete run then repeats it with the bare server
// instead of Evergate.
func noise(t *testing.T, l *lab, product cluster.Product, control bool) outcome {
	l.namespace(t, noisy, "enabled")
	l.beStrict(t)
	jane, joe := l.tenant(t, "jane", noisy), l.tenant(t, "joe", team)
	o, took := l.noiseOf(t, attack{
		jane: jane, honest: writesAs(t, joe, team, mirrored), objects: costlyObjects(), evaluated: true, replicas: true,
		control: control,
	})
	if control {
		return o
	}
	product.Tag = l.bare(t)
	l.Install(t, product)
	bare, tookBare := l.noiseOf(t, attack{
		jane: jane, honest: writesAs(t, joe, team, written), objects: costlyObjects(), replicas: true,
	})
	o.compareAll("bare server", bare, took, tookBare)
	return o
}

// noiseOnBackstop attacks a backstop, with all replicas or without replicas, and then the same cluster without the
// backstop. Without replicas, hosts of Ingresses are not evaluated, so only Pods and Services are created.
func noiseOnBackstop(t *testing.T, l *lab, replicas bool) outcome {
	l.namespace(t, noisy, "enabled")
	l.beStrict(t)
	jane, joe := l.tenant(t, "jane", noisy), l.tenant(t, "joe", team)
	a := attack{jane: jane, objects: costlyObjects(), replicas: replicas, evaluated: replicas}
	image := mirrored
	if !replicas {
		a.objects = slices.DeleteFunc(a.objects, func(c costly) bool { return c.path == ingressesPath })
		image = written
		l.scaleToZero(t)
		l.await(t, "no replica to answer", 2*time.Minute, func(ctx context.Context) error {
			return l.createService(ctx, team, corev1.ServiceTypeNodePort)
		})
	}
	a.honest = writesAs(t, joe, team, image)
	without, tookWithout := l.noiseOf(t, a)

	l.exportPolicy(t, strictPolicy())
	l.bindAsWebhooks(t)
	l.await(t, "the backstop to be active", time.Minute, func(ctx context.Context) error {
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: []string{forbidden}},
		}
		_, err := l.api.CoreV1().Services(noisy).Create(ctx, svc, dryRun)
		if err == nil || !replicas && !denied(err, "evergate-services-enforce") {
			return fmt.Errorf("a Service with a denied address: got %w", err)
		}
		p, err := l.api.CoreV1().Pods(team).Create(ctx, pod("", written), dryRun)
		if err == nil && p.Spec.Containers[0].Image != mirrored {
			err = errNotRewritten
		}
		return err
	})
	a.honest, a.evaluated = writesAs(t, joe, team, mirrored), true
	o, took := l.noiseOf(t, a)
	o.compareAll("without the backstop", without, took, tookWithout)
	return o
}

// attack describes the requests of jane and of the others, and the state of the cluster.
type attack struct {
	jane      *rest.Config
	honest    call
	objects   []costly
	evaluated bool // by the replicas or by a backstop; otherwise everything is allowed
	replicas  bool // three run; otherwise none runs, and each call of a webhook fails
	control   bool // it ends with the first object that breaks the guarantee
}

// compareAll records the results of the same attack in another setup, and compares the p99 of legitimate creations.
func (o *outcome) compareAll(what string, other outcome, took, tookOther map[string]time.Duration) {
	for _, f := range other.figures {
		o.figure(what+": "+f.Name, "%s", f.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(took)) {
		o.compare(name, what, took[name], tookOther[name])
	}
}

// compare records the p99 of legitimate creations as a ratio to the p99 of the same attack in another setup.
func (o *outcome) compare(name, what string, with, other time.Duration) {
	const most = 2
	ratio := float64(with) / float64(max(other, 1))
	o.figure(name+": p99 against "+what, "%.1f", ratio)
	if long() && ratio > most {
		o.breaks("%s: honest creations have a p99 of %s; %s: %s", name, with, what, other)
	}
}

// noiseOf makes jane create every costly object while others create their objects, and returns the p99 of the others.
func (l *lab) noiseOf(t *testing.T, a attack) (o outcome, took map[string]time.Duration) {
	t.Helper()
	took = map[string]time.Duration{}
	for _, object := range append([]costly{{name: "nothing"}}, a.objects...) { // the first is for comparison
		before, ran := l.apiServer(t), running{}
		if a.replicas {
			ran = l.running(t)
		}
		c := crowd{jane: a.jane, honest: &waits{create: a.honest}, small: small().creates(t, a.jane, noisy)}
		seen, p99 := c.run(t, object, a.evaluated)
		seen.figure("CPU of the API server", "%s", l.apiServerSince(t, before))
		if a.replicas {
			failed := l.failedCalls(t, before)
			seen.figure("calls of the webhooks that failed", "%.0f%s", sum(failed), byName(failed))
			seen.add(l.since(t, ran))
		}
		took[object.name] = p99
		for _, f := range seen.figures {
			o.figure(object.name+": "+f.Name, "%s", f.Value)
		}
		for _, why := range seen.broken {
			o.breaks("%s: %s", object.name, why)
		}
		if a.control && len(o.broken) > 0 {
			break
		}
	}
	return o, took
}

// apiServerSince returns the processor time that the API server has used since before, including the calls of webhooks
// and native policies, and its memory.
func (l *lab) apiServerSince(t *testing.T, before metrics.Set) string {
	t.Helper()
	const cpu = "process_cpu_seconds_total"
	now := l.apiServer(t)
	return fmt.Sprintf("%.1f s; afterwards %.0f MiB", now.Sum(cpu, nil)-before.Sum(cpu, nil),
		now.Sum("process_resident_memory_bytes", nil)/(1<<20))
}

// run makes all concurrent clients create one costly object for some time. It does not create the object named nothing.
func (c crowd) run(t *testing.T, object costly, evaluates bool) (outcome, time.Duration) {
	t.Helper()
	var attack *attacker
	stop := func() load.Books { return load.Books{} }
	if object.path != "" {
		attack = object.creates(t, c.jane, noisy)
		loud := load.Start(t.Context(), noisyClients, attack.call)
		stop = loud.Stop
		t.Cleanup(func() { stop() })
		select {
		case <-loud.After(1): // it is under way
		case <-t.Context().Done():
		}
	}
	honest := load.Start(t.Context(), honestClients, c.honest.call)
	small := load.Start(t.Context(), 1, func(ctx context.Context, n int64) error {
		pause(ctx, noisyPause)
		return c.small.call(ctx, n)
	})
	pause(t.Context(), noisyTime())
	books, smalls, attacks := honest.Stop(), small.Stop(), stop()

	var o outcome
	slices.Sort(c.honest.took)
	p99 := quantile(c.honest.took, 0.99)
	o.figure("honest creations", "%d, failed %d; p50 %s, p99 %s, at most %s", books.Calls, books.Failures,
		quantile(c.honest.took, 0.5), p99, quantile(c.honest.took, 1))
	if books.Failures > 0 {
		o.breaks("honest creations: %v", books)
	}
	o.figure("forbidden and small", "%s", &c.small.seen)
	if smalls.Failures > 0 && evaluates {
		o.breaks("forbidden and small: %v", smalls)
	}
	if attack != nil {
		o.figure("forbidden and costly", "%s%s", &attack.seen, reasons(attacks))
	}
	if evaluates {
		c.small.seen.breaks(&o, "forbidden and small")
		if attack != nil {
			attack.seen.breaks(&o, "forbidden and costly")
		}
		if attack != nil && attack.seen.keptOut() == 0 {
			o.breaks("forbidden and costly: none was kept out, of %s", &attack.seen)
		}
	}
	return o, p99
}

// noisyTime returns how long each object is created.
func noisyTime() time.Duration { return lasting(5*time.Second, time.Minute) }

// reasons returns why the API server itself rejected or lost an attack, which is not a failure of the webhook.
func reasons(b load.Books) string {
	if b.Failures == 0 {
		return ""
	}
	return ": " + b.String()
}
