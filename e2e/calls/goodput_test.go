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

// goodputTimeout is short, so few clients are enough to exceed it.
const goodputTimeout = 2 * time.Second

// BenchmarkGoodput measures answered reviews per second, and per second of the process's processor time, with one, two
// and four times as many clients as can be served. It is not a test, because times on a shared machine vary. The values
// in docs/measurements.md come from it.
//
// To measure the process and not the clients on the same machine, the process has one core, and a policy with which a
// review costs it several times as much as it costs the client. Even with four times the capacity, there are fewer
// clients than connections.
func BenchmarkGoodput(b *testing.B) {
	b.Setenv("GOMAXPROCS", "1")
	c := newCluster(b, product(b))
	must(b, c.policy.Write(map[string][]byte{"policy.yaml": []byte(expensivePolicy(40_000))}))
	p := c.start()
	c.service.Set(p.Addr)

	alone := c.goodput(b, p, 4, 1000)
	// This number of clients waits for a third of its time, and all clients are served. The process has one core, so
	// this is its capacity in an undisturbed second.
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
			b.ReportMetric(0, "ns/op") // has no meaning here
		})
	}
}

// goodput contains the results for a process.
type goodput struct {
	answered  int64 // successful calls
	took, cpu time.Duration
}

func (g goodput) perSecond() float64 { return float64(g.answered) / g.took.Seconds() }

func (g goodput) perCoreSecond() float64 { return float64(g.answered) / g.cpu.Seconds() }

// goodput measures successful calls with n concurrent clients.
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
	await(b, "clients", load.After(int64(n))) // all clients have called, and the queue has its final length
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
	b.WriteString(policy) // its last entry is in the pods block
	for i := range rules {
		fmt.Fprintf(&b, "- {name: rule-%d, mode: enforce, images: {from: mirrors, deniedTags: [latest]}}\n", i)
	}
	return b.String()
}
