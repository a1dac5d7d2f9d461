package calls

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/process"
)

// goodputTimeout is short, so that few clients are enough to overrun it.
const goodputTimeout = 2 * time.Second

// Reviews that are answered when one, two and four times as many clients come as can be served, per second and per
// second of the process's processor time. A benchmark and no test: a shared machine is no place to judge times. The
// figures in docs/measurements.md come from here.
//
// So that the process is what is measured, and not the clients beside it, it has one core, and a policy that makes a
// review cost it several times what it costs to ask. At four times the capacity there are fewer clients than the process
// has connections for them.
func BenchmarkGoodput(b *testing.B) {
	b.Setenv("GOMAXPROCS", "1")
	c := newCluster(b, product(b))
	must(b, c.policy.Write(map[string][]byte{"policy.yaml": []byte(expensivePolicy(40_000))}))
	p := c.start()
	c.service.Set(p.Addr)

	alone := c.goodput(b, p, 4, 1000)
	// So many clients wait for a third of their time, and all are served. It has one core, so this is what it can do in
	// a second that nothing else takes from it.
	saturated := int(alone.perCoreSecond() * goodputTimeout.Seconds() / 3)
	for _, times := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("%dx", times), func(b *testing.B) {
			n := times * saturated
			var g goodput
			for b.Loop() {
				g = c.goodput(b, p, n, 8*int64(n))
			}
			b.ReportMetric(float64(n), "clients")
			b.ReportMetric(g.perSecond(), "answers/s")
			b.ReportMetric(g.perCoreSecond(), "answers/cpu-s")
			b.ReportMetric(0, "ns/op") // means nothing here
		})
	}
}

// goodput is what a process achieved.
type goodput struct {
	answered  int64 // calls that succeeded
	took, cpu time.Duration
}

func (g goodput) perSecond() float64 { return float64(g.answered) / g.took.Seconds() }

func (g goodput) perCoreSecond() float64 { return float64(g.answered) / g.cpu.Seconds() }

// goodput measures the calls that succeed while n clients call at one time.
func (c *cluster) goodput(b *testing.B, p *process.Process, n int, calls int64) goodput {
	b.Helper()
	apiServer, err := client.New(c.service, c.ca.PEM, client.ClusterIP, goodputTimeout)
	must(b, err)
	var answered atomic.Int64
	load := client.Start(b.Context(), apiServer, n, func(ctx context.Context, _ int64) error {
		err := validate(ctx, apiServer)
		if err == nil {
			answered.Add(1)
		}
		return err
	})
	await(b, "clients", load.After(int64(n))) // all have come, and the queue is as long as it gets
	start, before := time.Now(), answered.Load()
	cpu, err := p.CPU()
	must(b, err)
	await(b, "calls", load.After(calls))
	g := goodput{answered: answered.Load() - before, took: time.Since(start)}
	used, err := p.CPU()
	must(b, err)
	g.cpu = used - cpu
	b.Log(load.Stop())
	return g
}

func expensivePolicy(rules int) string {
	var b strings.Builder
	b.WriteString(policy) // its last entry is one of pods
	for i := range rules {
		fmt.Fprintf(&b, "- {name: rule-%d, mode: enforce, images: {from: mirrors, deniedTags: [latest]}}\n", i)
	}
	return b.String()
}
