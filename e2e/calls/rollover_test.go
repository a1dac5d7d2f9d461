package calls

import (
	"syscall"
	"testing"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/process"
)

const (
	rollOvers = 20
	// The Service changes before the old process gets its signal, so no propagation is needed here. In a cluster,
	// endpoints and kube-proxy need the delay.
	quickDrain = "--drain-delay=200ms"
	drainCap   = "--drain-timeout=2s"
)

// TestRollOver does a rollover like a rolling update: a new process is ready, the Service changes, and the old process
// gets SIGTERM.
func TestRollOver(t *testing.T) {
	for _, test := range []struct {
		name    string
		routing client.Routing
		calls   int64 // between two rollovers; 20 of them make the 50,000 calls of the measurement for the guarantee
	}{
		{"by cluster IP", client.ClusterIP, 2500},
		{"by endpoint", client.Endpoints, 1000},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, codes := roll(t, test.routing, test.calls)
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

// TestGoodbye follows one connection through a rollover: one call while the old process drains, and another call after
// its end, before the client knows of the end. The control run uses a server that does the same but never sends
// Connection: close. Its client uses the connection again and always loses the call.
func TestGoodbye(t *testing.T) {
	silent := binary(t, "silent", map[string]string{"lifecycle/goodbye.go": "testdata/silent/goodbye.go"})
	for _, test := range []struct {
		name, binary string
		lost         bool
	}{
		{"holds", product(t), false},
		{"control", silent, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, test.binary, "--drain-delay=1h", "--drain-timeout=1h") // the process is killed
			apiServer := c.client(client.ClusterIP)
			apiServer.LearnLate()
			old, next := c.start(), c.start()
			c.service.Set(old.Addr)
			must(t, mutate(t.Context(), apiServer))
			c.service.Set(next.Addr)
			must(t, old.Terminate())
			if _, err := old.AwaitPhase(t.Context(), "draining"); err != nil {
				t.Fatal(err)
			}
			must(t, mutate(t.Context(), apiServer))
			must(t, old.Signal(syscall.SIGKILL))
			await(t, "the old process", old.Done())
			err := mutate(t.Context(), apiServer)
			t.Logf("the call after the end of the old process: %v", err)
			if (err != nil) != test.lost {
				t.Errorf("the call was lost: %t, want %t", err != nil, test.lost)
			}
		})
	}
}

// roll does rollovers under load. It returns the report of the calls and the exit codes of the replaced processes.
func roll(t *testing.T, routing client.Routing, calls int64) (client.Report, []int) {
	t.Helper()
	c := newCluster(t, product(t), quickDrain, drainCap)
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
