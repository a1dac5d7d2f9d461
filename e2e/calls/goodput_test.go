package calls

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/evergate/evergate/e2e/caller"
	"github.com/evergate/evergate/e2e/process"
)

// goodputTimeout is short, so that few callers are enough to overrun it.
const goodputTimeout = 2 * time.Second

// Reviews that are answered per second when one, two and four times as many callers come as can be served. It only
// measures: a shared machine is no place to judge times. The figures in docs/guarantees.md come from here.
//
// So that the process is what is measured, and not the callers beside it, it has one core, and a policy that makes a
// review cost it several times what it costs to ask.
func TestGoodput(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	c := newCluster(t, product(t))
	must(t, c.policy.Write(map[string][]byte{"policy.yaml": []byte(expensivePolicy(15_000))}))
	p := c.start()
	c.service.Set(p.Addr)

	alone := c.goodput(t, p, 4, 1000)
	t.Log(alone)
	// A review waits for a third of its time and is then turned away; so many callers just need not be.
	saturated := int(alone.perSecond() * goodputTimeout.Seconds() / 3)
	for _, times := range []int{1, 2, 4} {
		n := times * saturated
		t.Logf("%d × capacity, %d callers: %s", times, n, c.goodput(t, p, n, 4*int64(n)))
	}
}

// goodput is what a process achieved.
type goodput struct {
	answered  int64 // calls that succeeded
	took, cpu time.Duration
}

func (g goodput) perSecond() float64 { return float64(g.answered) / g.took.Seconds() }

func (g goodput) String() string {
	return fmt.Sprintf("%.0f answers/s, %.0f per second of its processor time", g.perSecond(), float64(g.answered)/g.cpu.Seconds())
}

// goodput measures the calls that succeed while n callers call at one time.
func (c *cluster) goodput(t *testing.T, p *process.Process, n int, calls int64) goodput {
	t.Helper()
	client, err := caller.New(c.service, c.ca.PEM, caller.ClusterIP, goodputTimeout)
	must(t, err)
	review := podReview("mirror.corp.example/docker.io/library/nginx:1.25")
	var answered atomic.Int64
	load := caller.Start(t.Context(), client, n, func(ctx context.Context, _ int64) error {
		err := allowed(ctx, client, review)
		if err == nil {
			answered.Add(1)
		}
		return err
	})
	await(t, "callers", load.After(int64(n))) // all have come, and the line is as long as it gets
	start, before := time.Now(), answered.Load()
	cpu, err := p.CPU()
	must(t, err)
	await(t, "calls", load.After(calls))
	g := goodput{answered: answered.Load() - before, took: time.Since(start)}
	used, err := p.CPU()
	must(t, err)
	g.cpu = used - cpu
	t.Log(load.Stop())
	return g
}

func allowed(ctx context.Context, client *caller.Client, review *admissionv1.AdmissionReview) error {
	answer, err := client.Call(ctx, "/validate/pods", false, review)
	if err == nil && !answer.Allowed {
		err = fmt.Errorf("denied: %s", answer.Result.Message)
	}
	return err
}

func expensivePolicy(rules int) string {
	var b strings.Builder
	b.WriteString(policy) // its last entry is one of pods
	for i := range rules {
		fmt.Fprintf(&b, "- {name: rule-%d, mode: enforce, images: {from: mirrors, deniedTags: [latest]}}\n", i)
	}
	return b.String()
}
