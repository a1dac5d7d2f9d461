package incidents

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/load"
)

// I18: one tenant created objects that were so costly to review that the reviews of all other tenants timed out. If a
// review times out, its object is admitted unchecked, or the request fails.

func TestI18(t *testing.T) {
	for _, overlay := range []string{"fail-open", "fail-closed"} {
		t.Run(overlay, func(t *testing.T) {
			product := cluster.Product{Overlay: overlay}
			in := incident{
				id: "I18", what: "a tenant creates costly objects, 24 at once, while others create theirs; " + overlay,
				guard: "what a review costs is bounded", product: product, long: true,
				happen: func(t *testing.T, l *lab, control bool) outcome { return noise(t, l, product, control) },
			}
			if overlay == "fail-open" { // more is lost there: an object whose review is late is admitted
				in.lacking = "the revision before, without those bounds"
				in.without = func(t *testing.T, l *lab) { l.Install(t, l.unbounded(t, product)) }
			}
			try(t, in)
		})
	}
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
	o, took := l.noiseOf(t, jane, writesAs(t, joe, team, mirrored), true, control)
	if control {
		return o
	}
	product.Tag = l.bare(t)
	l.Install(t, product)
	bare, tookBare := l.noiseOf(t, jane, writesAs(t, joe, team, written), false, false)
	for _, f := range bare.figures {
		o.figure("bare server: "+f.Name, "%s", f.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(took)) {
		o.compare(name, took[name], tookBare[name])
	}
	return o
}

// compare records the p99 of legitimate creations together with the p99 with the bare server.
func (o *outcome) compare(name string, with, bare time.Duration) {
	const most = 2
	ratio := float64(with) / float64(max(bare, 1))
	o.figure(name+": p99 against the bare server's", "%.1f", ratio)
	if long() && ratio > most {
		o.breaks("%s: honest creations have a p99 of %s, with the bare server %s", name, with, bare)
	}
}

// noiseOf makes jane create every costly object while others create their objects, and returns the p99 of the others.
// The installed server evaluates objects, or allows everything. A control run ends with the first object that breaks
// the guarantee.
func (l *lab) noiseOf(
	t *testing.T, jane *rest.Config, create call, judges, control bool,
) (o outcome, took map[string]time.Duration) {
	t.Helper()
	took = map[string]time.Duration{}
	for _, object := range append([]costly{{name: "nothing"}}, costlyObjects()...) { // the first is for comparison
		before, ran := l.apiServer(t), l.running(t)
		c := crowd{jane: jane, honest: &waits{create: create}, small: small().creates(t, jane, noisy)}
		seen, p99 := c.run(t, object, judges)
		failed := l.failedCalls(t, before)
		seen.figure("calls of the webhooks that failed", "%.0f%s", sum(failed), byName(failed))
		seen.add(l.since(t, ran))
		took[object.name] = p99
		for _, f := range seen.figures {
			o.figure(object.name+": "+f.Name, "%s", f.Value)
		}
		for _, why := range seen.broken {
			o.breaks("%s: %s", object.name, why)
		}
		if control && len(o.broken) > 0 {
			break
		}
	}
	return o, took
}

// run makes all concurrent clients create one costly object for some time. It does not create the object named nothing.
func (c crowd) run(t *testing.T, object costly, judges bool) (outcome, time.Duration) {
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
	if smalls.Failures > 0 && judges {
		o.breaks("forbidden and small: %v", smalls)
	}
	if attack != nil {
		o.figure("forbidden and costly", "%s%s", &attack.seen, reasons(attacks))
	}
	if judges {
		c.small.seen.breaks(&o, "forbidden and small")
		if attack != nil {
			attack.seen.breaks(&o, "forbidden and costly")
		}
		if attack != nil && attack.seen.denied.Load() == 0 {
			o.breaks("forbidden and costly: none was denied, of %s", &attack.seen)
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
