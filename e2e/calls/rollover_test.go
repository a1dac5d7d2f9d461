package calls

import (
	"testing"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/process"
)

const (
	rollOvers = 20
	// The Service is moved before the old process gets its signal, so nothing has to propagate here; in a cluster the
	// delay is what endpoints and kube-proxy need.
	quickDrain = "--drain-delay=200ms"
	drainCap   = "--drain-timeout=2s"
)

// A roll-over as a rolling update does it: a new process is up, the Service moves, the old one gets SIGTERM.
func TestRollOver(t *testing.T) {
	for _, test := range []struct {
		name    string
		routing client.Routing
		calls   int64 // between two roll-overs; 20 of them make the 50,000 that the promise was measured with
	}{
		{"by cluster IP", client.ClusterIP, 2500},
		{"by endpoint", client.Endpoints, 1000},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, codes := roll(t, product(t), test.routing, test.calls, false)
			t.Log(report)
			if want := rollOvers * test.calls; report.Calls < want {
				t.Errorf("only %d calls were made, want at least %d", report.Calls, want)
			}
			if report.Failures > 0 {
				t.Error("calls were lost")
			}
			for i, code := range codes {
				if code != 0 {
					t.Errorf("process %d ended with code %d, want 0", i, code)
				}
			}
		})
	}
}

// The negative control: a server that does all the same but never says Connection: close loses calls. If this fails,
// the test above proves nothing. It ends when one was lost.
func TestRollOverWithoutGoodbye(t *testing.T) {
	silent := binary(t, "silent", map[string]string{"lifecycle/goodbye.go": "testdata/silent/goodbye.go"})
	report, _ := roll(t, silent, client.ClusterIP, 2500, true)
	t.Log(report)
	if report.Failures == 0 {
		t.Error("no call was lost without Connection: close: this test cannot see what it is for")
	}
}

// roll rolls over under load and returns what became of the calls, and the exit codes of those that were replaced.
func roll(t *testing.T, binary string, routing client.Routing, calls int64, control bool) (client.Report, []int) {
	t.Helper()
	c := newCluster(t, binary, quickDrain, drainCap)
	old := c.start()
	c.service.Set(old.Addr)
	load := c.load(c.client(routing), clients)
	var ended []*process.Process
	for range rollOvers {
		await(t, "calls", load.After(calls))
		next := c.start()
		c.service.Set(next.Addr)
		must(t, old.Terminate())
		ended = append(ended, old)
		old = next
		if control && load.Books().Failures > 0 {
			break
		}
	}
	await(t, "calls", load.After(calls))
	for _, p := range ended {
		await(t, "a drained process", p.Done())
	}
	report := load.Stop()
	codes := make([]int, len(ended))
	for i, p := range ended {
		codes[i] = p.Wait()
	}
	return report, codes
}
