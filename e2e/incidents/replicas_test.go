package incidents

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/evergate/evergate/e2e/internal/metrics"
)

// running contains the metrics of the replicas.
type running struct {
	restarts map[string]int32
	counts   map[string]metrics.Set // empty for a server without metrics
}

func (l *lab) running(t *testing.T) running {
	t.Helper()
	r := running{restarts: map[string]int32{}, counts: map[string]metrics.Set{}}
	for _, p := range l.awaitReplicas(t, 3) {
		r.restarts[p.Name] = p.Status.ContainerStatuses[0].RestartCount
		if set, err := l.count(t.Context(), p.Name); err == nil {
			r.counts[p.Name] = set
		}
	}
	return r
}

// since returns the events in the replicas. No replica may have been killed.
func (l *lab) since(t *testing.T, was running) outcome {
	t.Helper()
	var o outcome
	is := l.running(t)
	restarts := int32(0)
	for name := range is.restarts {
		restarts += is.restarts[name] - was.restarts[name]
	}
	o.figure("replicas killed", "%d", restarts)
	if restarts > 0 {
		o.breaks("replicas were killed %d times", restarts)
		return o // its metrics are lost
	}
	if len(is.counts) == 0 {
		return o
	}
	cpu, memory, rejected := 0.0, 0.0, map[string]float64{}
	took, waited := map[float64]uint64{}, map[float64]uint64{}
	for name, set := range is.counts {
		before := was.counts[name]
		cpu += set.Sum("process_cpu_seconds_total", nil) - before.Sum("process_cpu_seconds_total", nil)
		memory = max(memory, set.Sum("process_resident_memory_bytes", nil))
		for reason, n := range set.By("reason", "evergate_reviews_rejected_total", nil) {
			rejected[reason] += n
		}
		for reason, n := range before.By("reason", "evergate_reviews_rejected_total", nil) {
			rejected[reason] -= n
		}
		grown(took, before, set, "evergate_review_duration_seconds")
		grown(waited, before, set, "evergate_review_wait_seconds")
	}
	o.figure("reviews took", "%s", slowest(took))
	o.figure("and waited for a slot", "%s", slowest(waited))
	o.figure("reviews rejected", "%.0f%s", sum(rejected), byName(rejected))
	o.figure("CPU of the replicas", "%.1f s; afterwards at most %.0f MiB each", cpu, memory/(1<<20))
	return o
}

// grown adds the increase of one process's histogram to counts.
func grown(counts map[float64]uint64, before, after metrics.Set, metric string) {
	was := before.Buckets(metric)
	for bound, n := range after.Buckets(metric) {
		counts[bound] += n - was[bound]
	}
}

// slowest formats the bounds of a histogram within which half of all, 99 % and all observations are.
func slowest(counts map[float64]uint64) string {
	bounds, all := []float64{}, counts[math.Inf(1)]
	for bound := range counts {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	within := func(share float64) float64 {
		for _, bound := range bounds {
			if float64(counts[bound]) >= share*float64(all) {
				return bound
			}
		}
		return 0
	}
	return fmt.Sprintf("%d: half at most %g s, 99 %% %g s, all %g s", all, within(0.5), within(0.99), within(1))
}
