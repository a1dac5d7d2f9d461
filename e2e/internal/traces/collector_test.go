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

// TestCollectorTrouble checks that, whatever state the collector is in, reviews get the same responses as without
// tracing, lost spans are counted, and the process ends well within the grace period of a Pod.
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
					t.Errorf("responses differ from the responses of a server without tracing:\n%s", diff)
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

// troubles returns the states that a collector can be in.
func troubles() map[string]func(testing.TB, string) *collector {
	return map[string]func(testing.TB, string) *collector{"absent": absent, "hanging": hanging, "slow": slow,
		"dying": dying}
}

// serve starts a server that sends its spans to the collector, and waits until it has started to send, if it can.
func (c *collector) serve(t testing.TB, protocol string) *webhook {
	t.Helper()
	w := serve(t, append(exported(protocol, "http://"+c.addr),
		"OTEL_BSP_SCHEDULE_DELAY=10",  // ms: spans are exported while reviews are being answered,
		"OTEL_BSP_MAX_QUEUE_SIZE=64")) // and there are more spans than the queue has room for
	if c.met != nil {
		<-c.met // with the spans of its phases
	}
	return w
}

// answers sends about a hundred reviews, and returns the responses.
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

// endInTime is like end, with the limit for terminationGracePeriodSeconds: 1 s of drain, 15 s of shutdown, 5 s for
// telemetry. After that, a Pod would be killed, and so is this process.
func (w *webhook) endInTime(t *testing.T) {
	t.Helper()
	grace := time.AfterFunc(21*time.Second, func() { _ = w.Signal(os.Kill) })
	w.end(t)
	if !grace.Stop() {
		t.Error("it took longer than the grace period of its Pod")
	}
}

// collector is the destination of spans, and its failure.
type collector struct {
	addr     string
	met      chan struct{} // closed when the process has connected; nil if it cannot connect
	reviewed func(n int)   // called for each answered review
}

// absent returns a collector that does not listen.
func absent(t testing.TB, _ string) *collector {
	t.Helper()
	free, err := controlplane.FreePorts(t.Context(), 1)
	must(t, err)
	return &collector{addr: free[0], reviewed: func(int) {}}
}

// hanging returns a collector that accepts connections but does not read or respond.
func hanging(t testing.TB, _ string) *collector {
	t.Helper()
	return listen(t, func(net.Listener, net.Conn) {})
}

// slow returns a Jaeger whose responses arrive only once in fifty reviews.
func slow(t testing.TB, protocol string) *collector {
	t.Helper()
	turns := make(chan struct{}, 300) // more than the reviews of a test
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
	t.Cleanup(func() { close(turns) }) // runs first, because the relay waits for turns
	c.reviewed = func(n int) {
		if n%50 == 0 {
			turns <- struct{}{}
		}
	}
	return c
}

// dying returns a Jaeger that disappears permanently with its first response.
func dying(t testing.TB, protocol string) *collector {
	t.Helper()
	return listen(t, relay(t, protocol, func(l net.Listener, from, to net.Conn) {
		_, _ = io.CopyN(to, from, 10) // in the middle of the response
		_ = l.Close()
	}))
}

// listen runs a collector until the test ends. It then closes its connections, unless meet has closed them before. Each
// call of meet returns before the test ends.
func listen(t testing.TB, meet func(net.Listener, net.Conn)) *collector {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	c := &collector{addr: l.Addr().String(), met: make(chan struct{}), reviewed: func(int) {}}
	var conns []net.Conn
	var meetings sync.WaitGroup // only the accepting goroutine adds to it
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

// relay connects the process with a real Jaeger. Data from the process is forwarded, and back forwards the responses of
// Jaeger. When back returns, both connections are closed.
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
