package traces

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/e2e/internal/controlplane"
)

// TestCollectorTrouble: whatever state the collector is in, reviews are answered as if nothing was traced, spans are
// lost visibly, and the process ends well within the time that a Pod is given.
func TestCollectorTrouble(t *testing.T) {
	quiet := serve(t, nil)
	want := quiet.answers(t, func(int) {})
	quiet.end(t)
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for name, trouble := range troubles() {
			t.Run(strings.ReplaceAll(protocol, "/", "-")+" "+name, func(t *testing.T) {
				c := trouble(t, protocol)
				w := c.serve(t, protocol)
				if diff := cmp.Diff(want, w.answers(t, c.reviewed)); diff != "" {
					t.Errorf("answers differ from those of a server that traces nothing:\n%s", diff)
				}
				must(t, until(t.Context(), func() error {
					if w.metric(t, "evergate_spans_dropped_total", "") == 0 {
						return errors.New("no span counts as dropped")
					}
					return nil
				}))
				w.endInTime(t)
			})
		}
	}
}

// BenchmarkCollectorTrouble is what a review costs whose collector is in trouble, as a ratio to one with a Jaeger that
// takes all: processor time of the process, with the export of spans. Every review is traced. The servers take turns.
//
//	go test -run '^$' -bench CollectorTrouble -benchtime 20x ./internal/traces
func BenchmarkCollectorTrouble(b *testing.B) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		b.Run(strings.ReplaceAll(protocol, "/", "-"), func(b *testing.B) {
			healthy := &collector{addr: strings.TrimPrefix(startJaeger(b).endpoint(protocol), "http://"), reviewed: func(int) {}}
			all := map[string]*costly{"healthy": {collector: healthy, webhook: healthy.serve(b, protocol)}}
			for name, trouble := range troubles() {
				c := trouble(b, protocol)
				all[name] = &costly{collector: c, webhook: c.serve(b, protocol)}
			}
			for _, c := range all {
				c.seconds -= c.processor(b)
			}
			for b.Loop() {
				for _, c := range all {
					c.turn(b)
				}
			}
			for _, c := range all { // with what was exported meanwhile
				c.seconds += c.processor(b)
			}
			b.ReportMetric(0, "ns/op") // of all servers together, which says nothing
			b.ReportMetric(all["healthy"].perReview(), "healthy-µs")
			for name := range troubles() {
				b.ReportMetric(all[name].perReview()/all["healthy"].perReview(), name+"/healthy")
			}
		})
	}
}

// costly is a server and what it has cost.
type costly struct {
	*collector
	*webhook
	seconds float64
	reviews int
}

// processor is the time that the process has spent since it was started, in seconds.
func (c *costly) processor(b *testing.B) float64 {
	b.Helper()
	return c.metric(b, "process_cpu_seconds_total", "")
}

// turn has reviews answered.
func (c *costly) turn(b *testing.B) {
	b.Helper()
	const reviews = 200
	for i := range reviews {
		_, err := c.post(b.Context(), "/mutate/pods", "", review(fmt.Sprintf("uid-%d", i), "p", "nginx:1"))
		must(b, err)
		c.reviewed(c.reviews)
		c.reviews++
	}
}

// perReview is in microseconds.
func (c *costly) perReview() float64 { return c.seconds / float64(c.reviews) * 1e6 }

// troubles are the states that a collector can be in.
func troubles() map[string]func(testing.TB, string) *collector {
	return map[string]func(testing.TB, string) *collector{"absent": absent, "hanging": hanging, "slow": slow,
		"dying": dying}
}

// serve starts a server that sends its spans there, and waits until it has begun to, where it can.
func (c *collector) serve(t testing.TB, protocol string) *webhook {
	t.Helper()
	w := serve(t, append(exported(protocol, "http://"+c.addr),
		"OTEL_BSP_SCHEDULE_DELAY=10",  // ms: spans are to be handed over while reviews are being answered,
		"OTEL_BSP_MAX_QUEUE_SIZE=64")) // and there are more of them than there is room for
	if c.met != nil {
		<-c.met // by the spans of its phases
	}
	return w
}

// answers has some hundred reviews answered, and returns what became of them.
func (w *webhook) answers(t *testing.T, reviewed func(n int)) []string {
	t.Helper()
	var all []string
	for i := range 300 {
		path, image := "/mutate/pods", "nginx:1"
		if i%3 == 0 {
			path, image = "/validate/pods", "nginx:latest"
		}
		a, err := w.post(t.Context(), path, "", review(fmt.Sprintf("uid-%d", i), "p", image))
		must(t, err)
		all = append(all, fmt.Sprint(a.UID, a.Allowed, string(a.Patch), a.Result, a.Warnings))
		reviewed(i)
	}
	return all
}

// endInTime is end, by the rule for terminationGracePeriodSeconds: 1 s of drain, 15 s of shutdown, 5 s for telemetry. A
// Pod would be killed then, and so is this one.
func (w *webhook) endInTime(t *testing.T) {
	t.Helper()
	grace := time.AfterFunc(21*time.Second, func() { _ = w.Signal(os.Kill) })
	w.end(t)
	if !grace.Stop() {
		t.Error("it took longer than the grace period of its Pod")
	}
}

// collector is where spans are sent to, and what is wrong with it.
type collector struct {
	addr     string
	met      chan struct{} // closed when the process has connected; nil where it cannot
	reviewed func(n int)   // called for each review that was answered
}

// absent: nothing listens.
func absent(t testing.TB, _ string) *collector {
	t.Helper()
	free, err := controlplane.FreePorts(t.Context(), 1)
	must(t, err)
	return &collector{addr: free[0], reviewed: func(int) {}}
}

// hanging: connections are accepted, and nothing that is sent over them is read or answered.
func hanging(t testing.TB, _ string) *collector {
	t.Helper()
	return listen(t, func(net.Listener, net.Conn) {})
}

// slow: a Jaeger whose answers come through once in fifty reviews.
func slow(t testing.TB, protocol string) *collector {
	t.Helper()
	turns := make(chan struct{}, 300) // more than a test has reviews
	c := listen(t, relay(t, protocol, func(_ net.Listener, from, to net.Conn) {
		chunk := make([]byte, 32<<10)
		for range turns {
			n, err := from.Read(chunk)
			if err != nil {
				return
			}
			if _, err := to.Write(chunk[:n]); err != nil {
				return
			}
		}
	}))
	t.Cleanup(func() { close(turns) }) // the first to be done, since the relay waits for turns
	c.reviewed = func(n int) {
		if n%50 == 0 {
			select {
			case turns <- struct{}{}:
			default: // a benchmark has more
			}
		}
	}
	return c
}

// dying: a Jaeger that is gone for good with its first answer.
func dying(t testing.TB, protocol string) *collector {
	t.Helper()
	return listen(t, relay(t, protocol, func(l net.Listener, from, to net.Conn) {
		_, _ = io.CopyN(to, from, 10) // in the middle of it
		_ = l.Close()
	}))
}

// listen runs a collector until the test ends. Its connections are closed then, and not before unless meet does so; each
// meet has returned when the test has ended.
func listen(t testing.TB, meet func(net.Listener, net.Conn)) *collector {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	c := &collector{addr: l.Addr().String(), met: make(chan struct{}), reviewed: func(int) {}}
	var conns []net.Conn
	var meetings sync.WaitGroup // only the goroutine that accepts adds to it
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if conns = append(conns, conn); len(conns) == 1 {
				close(c.met)
			}
			meetings.Go(func() { meet(l, conn) })
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		for _, conn := range conns {
			_ = conn.Close()
		}
		meetings.Wait()
	})
	return c
}

// relay connects the process with a real Jaeger. What the process sends goes through, what Jaeger answers goes by back,
// and when that returns both connections are closed.
func relay(t testing.TB, protocol string, back func(l net.Listener, from, to net.Conn)) func(net.Listener, net.Conn) {
	t.Helper()
	j := startJaeger(t)
	addr := strings.TrimPrefix(j.endpoint(protocol), "http://")
	return func(l net.Listener, conn net.Conn) {
		var there sync.WaitGroup
		defer there.Wait()
		defer conn.Close()
		upstream, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			return
		}
		defer upstream.Close()
		there.Go(func() {
			_, _ = io.Copy(upstream, conn)
			_ = upstream.Close()
		})
		back(l, upstream, conn)
	}
}
