package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/client"
)

// The number of restarts, and the number of calls between them. EVERGATE_CURL_PERIOD=20s EVERGATE_CURL_RESTARTS=… runs
// the original test, with a restart every 20 s.
const (
	curlRestarts = 5
	curlCalls    = 200
)

// TestCurlLoop runs the loop that found gatekeeper's lost calls (issue 3776): curl without retries, with a new
// connection and a new process for each call, as fast as possible, while the server is replaced repeatedly.
func TestCurlLoop(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	c := newCluster(t, product(t), quickDrain, drainCap)
	old := c.start()
	c.service.Set(old.Addr)
	loop := startCurl(t, curl, c, forward(t, c.service))
	restarts, period := curlLoopLength(t)
	for range restarts {
		await(t, "curl", loop.between(period))
		next := c.start()
		c.service.Set(next.Addr)
		must(t, old.Terminate())
		if code := old.Wait(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		old = next
	}
	calls, failures := loop.stop()
	t.Logf("calls %d, failures %d, restarts %d", calls, len(failures), restarts)
	if calls < restarts {
		t.Error("almost no call was made")
	}
	if len(failures) > 0 {
		t.Errorf("calls were lost, the first: %s", failures[0])
	}
}

// curlLoopLength returns the number of restarts and, if it is set, the time between them.
func curlLoopLength(t *testing.T) (restarts int, period time.Duration) {
	t.Helper()
	restarts = curlRestarts
	if s := os.Getenv("EVERGATE_CURL_PERIOD"); s != "" {
		var err error
		period, err = time.ParseDuration(s)
		must(t, err)
	}
	if s := os.Getenv("EVERGATE_CURL_RESTARTS"); s != "" {
		_, err := fmt.Sscan(s, &restarts)
		must(t, err)
	}
	return restarts, period
}

// curlLoop is curl in a loop.
type curlLoop struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	calls    int
	failures []string
	at       int           // after this number of calls,
	reached  chan struct{} // this channel is closed
}

// startCurl calls the address under the Service's name, with two clients.
func startCurl(t *testing.T, curl string, c *cluster, address string) *curlLoop {
	t.Helper()
	dir := t.TempDir()
	ca, body := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "review.json")
	review, err := json.Marshal(podReview("nginx:1.25"))
	must(t, err)
	must(t, os.WriteFile(ca, c.ca.PEM, 0o600))
	must(t, os.WriteFile(body, review, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	loop := &curlLoop{cancel: cancel}
	for range 2 {
		loop.done.Go(func() {
			for ctx.Err() == nil {
				out, err := exec.Command(curl, "--retry", "0", "--silent", "--show-error", "--fail", "--max-time", "3",
					"--cacert", ca, "--connect-to", "::"+address, "-H", "Content-Type: application/json", "--data", "@"+body,
					"https://"+c.service.DNSName()+"/mutate/pods?timeout=3s").CombinedOutput()
				loop.record(out, err)
			}
		})
	}
	t.Cleanup(cancel)
	return loop
}

func (l *curlLoop) record(out []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if err != nil {
		l.failures = append(l.failures, fmt.Sprintf("%v: %s", err, out))
	}
	if l.reached != nil && l.calls >= l.at {
		close(l.reached)
		l.reached = nil
	}
}

// between returns a channel that is closed when it is time for the next restart: after a period, or after some calls.
func (l *curlLoop) between(period time.Duration) <-chan struct{} {
	reached := make(chan struct{})
	if period > 0 {
		time.AfterFunc(period, func() { close(reached) })
		return reached
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.reached = l.calls+curlCalls, reached
	return reached
}

func (l *curlLoop) stop() (calls int, failures []string) {
	l.cancel()
	l.done.Wait()
	return l.calls, l.failures
}

// forward simulates the Service for curl. It listens on an address and connects each new connection to an endpoint,
// which then does not change.
func forward(t *testing.T, service *client.Service) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go relay(conn, service.Pick())
		}
	}()
	return listener.Addr().String()
}

// relay copies both ways until both have ended.
func relay(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], way[0])
			_ = way[1].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}
