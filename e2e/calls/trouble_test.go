package calls

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/process"
)

// Four times as many clients as reviews are decided at once. Some wait, some are answered with 429, and the API
// server's client retries; no call is lost.
func TestOverload(t *testing.T) {
	const bound = 4
	c := newCluster(t, product(t), "--max-in-flight", strconv.Itoa(bound))
	p := c.start()
	c.service.Set(p.Addr)
	load := c.load(c.client(client.ClusterIP), 4*bound)
	await(t, "calls", load.After(20_000))
	noneLost(t, load.Stop())
}

// One review is stuck. Its client loses that call when its deadline passes; no other call is affected, since one stuck
// review is not a hung process. When the process receives a signal to stop, the shutdown deadline cuts the
// review off, and the exit code says so.
func TestHungReview(t *testing.T) {
	notShort(t)
	hanging := binary(t, "hanging", map[string]string{"policy/pod_digest.go": "testdata/hanging/pod_digest.go"})
	c := newCluster(t, hanging, quickDrain, drainCap, "--shutdown-timeout=1s")
	p := c.start()
	c.service.Set(p.Addr)
	hung := make(chan error, 1)
	// This client has the default of timeoutSeconds, and its own books.
	stuck, err := client.New(c.service, c.ca.PEM, client.ClusterIP, 10*time.Second)
	must(t, err)
	go func() {
		_, err := stuck.Call(t.Context(), "/validate/pods", false, podReview("hang.example/forever"))
		hung <- err
	}()
	load := c.load(c.client(client.ClusterIP), clients)
	await(t, "calls", load.After(10_000))
	err = <-hung
	if err == nil {
		t.Error("the hung call was answered")
	}
	t.Logf("the hung call: %v", err)
	noneLost(t, load.Stop())
	must(t, p.Terminate())
	if code := p.Wait(); code != 4 {
		t.Errorf("exit code %d, want 4: the shutdown deadline cut a review off", code)
	}
}

// One of three processes is killed without warning. What was on its connections is lost, and what is dialled before
// the endpoint is gone is refused; docs/measurements.md has the figures.
func TestKilled(t *testing.T) {
	c := newCluster(t, product(t))
	victim, second, third := c.start(), c.start(), c.start()
	c.service.Set(victim.Addr, second.Addr, third.Addr)
	load := c.load(c.client(client.ClusterIP), clients)
	await(t, "calls", load.After(10_000))
	must(t, victim.Signal(syscall.SIGKILL))
	await(t, "the killed process", victim.Done())
	c.service.Set(second.Addr, third.Addr)
	await(t, "calls", load.After(10_000))
	report := load.Stop()
	t.Log(report)
	// At the moment of the kill each client has one call under way. Afterwards a client may meet a pooled connection
	// whose end the client has not seen yet, or be refused once, before the endpoint is gone.
	if report.Failures > 3*clients {
		t.Errorf("%d calls were lost, by %d clients", report.Failures, clients)
	}
}

// A second signal ends the process at once, and says so.
func TestSecondSignal(t *testing.T) {
	c := newCluster(t, product(t), "--drain-delay=1h", "--drain-timeout=1h")
	p := c.start()
	must(t, p.Terminate())
	if _, err := p.AwaitPhase(t.Context(), "draining"); err != nil {
		t.Fatal(err)
	}
	must(t, p.Terminate())
	if code := p.Wait(); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
}

// A process whose certificate is not there yet waits for it, says what is missing, and is ready when it comes.
func TestCertificateComesLate(t *testing.T) {
	c := newCluster(t, product(t))
	must(t, c.tls.Write(nil))
	p := c.launch()
	waits := func(e process.Entry) bool { return e.Is("waiting for a serving certificate") }
	if _, err := p.Await(t.Context(), waits); err != nil {
		t.Fatal(err)
	}
	c.renewLeaf()
	must(t, p.AwaitReady(t.Context()))
	c.service.Set(p.Addr)
	must(t, mutate(t.Context(), c.client(client.ClusterIP)))
}
