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

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/load"
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
	const restarts, between = 5, 200 // calls
	for range restarts {
		await(t, "curl", loop.After(between))
		next := c.start()
		c.service.Set(next.Addr)
		must(t, old.Terminate())
		if code := old.Wait(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		old = next
	}
	books := loop.Stop()
	t.Logf("%v, restarts %d", books, restarts)
	if books.Failures > 0 {
		t.Error("calls were lost")
	}
}

// startCurl calls the address under the Service's name, with two clients.
func startCurl(t *testing.T, curl string, c *cluster, address string) *load.Load {
	t.Helper()
	dir := t.TempDir()
	ca, body := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "review.json")
	review, err := json.Marshal(podReview("nginx:1.25"))
	must(t, err)
	must(t, os.WriteFile(ca, c.ca.PEM, 0o600))
	must(t, os.WriteFile(body, review, 0o600))
	loop := load.Start(t.Context(), 2, func(ctx context.Context, _ int64) error {
		out, err := exec.CommandContext(ctx, curl, "--retry", "0", "--silent", "--show-error", "--fail", "--max-time", "3",
			"--cacert", ca, "--connect-to", "::"+address, "-H", "Content-Type: application/json", "--data", "@"+body,
			"https://"+c.service.DNSName()+"/mutate/pods?timeout=3s").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	t.Cleanup(func() { loop.Stop() })
	return loop
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
