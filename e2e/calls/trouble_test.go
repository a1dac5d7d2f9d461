package calls

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/process"
)

// TestOverload uses four times as many clients as slots. Some reviews wait, and some get 429, after which the API
// server's client retries. No call is lost.
func TestOverload(t *testing.T) {
	const bound = 4
	c := newCluster(t, product(t), "--max-in-flight", strconv.Itoa(bound))
	p := c.start()
	c.service.Set(p.Addr)
	load := c.load(c.client(client.ClusterIP), 4*bound)
	await(t, "calls", load.After(20_000))
	noneLost(t, load.Stop())
}

// TestHungReview makes one review hang. Its client loses that call when its deadline passes. No other call is affected,
// because one stuck review is not a hung process. After a signal to stop, the shutdown deadline cuts the review off,
// and the exit code shows this.
func TestHungReview(t *testing.T) {
	notShort(t)
	hanging := binary(t, "hanging", map[string]string{"policy/internal/images/digest.go": "testdata/hanging/digest.go"})
	c := newCluster(t, hanging, quickDrain, drainCap, "--shutdown-timeout=1s")
	p := c.start()
	c.service.Set(p.Addr)
	hung := make(chan error, 1)
	// This client has the default timeoutSeconds and separate counts.
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
		t.Errorf("exit code %d, want 4: the shutdown deadline cut off a review", code)
	}
}

// TestKilled kills one of three processes without warning. Calls on its connections are lost, and new connections fail
// until the endpoint is removed. docs/measurements.md has the results.
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
	// At the moment of the kill, each client has one call under way. Afterwards, a client may use a pooled connection
	// whose end it has not noticed yet, or fail to connect once, before the endpoint is removed.
	if report.Failures > 3*clients {
		t.Errorf("%d calls were lost, by %d clients", report.Failures, clients)
	}
}

// TestSecondSignal checks that a second signal ends the process immediately, with its exit code.
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

// TestCertificateComesLate starts a process before its certificate exists. The process logs what is missing, and is
// ready when the certificate appears.
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
