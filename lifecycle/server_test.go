package lifecycle

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// goesAway returns a channel that receives when the other side closes a connection.
func goesAway(conn net.Conn) <-chan time.Time {
	gone := make(chan time.Time, 1)
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		gone <- time.Now()
	}()
	return gone
}

// kube-apiserver closes a connection that it does not use after 90 s. Evergate must not close it first, whether the
// connection has carried a request or was dialed in advance.
func TestUnusedConnectionIsKept(t *testing.T) {
	for name, first := range map[string]string{
		"after a request": "GET /review HTTP/1.1\r\nHost: evergate\r\n\r\n",
		"before any":      "",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.run(t)
				conn := w.reviews.mustDial(t)
				start, gone := time.Now(), goesAway(conn)
				fmt.Fprint(conn, first)
				if kept := (<-gone).Sub(start); kept != 3*time.Minute {
					t.Errorf("an idle connection was closed after %s, want 3m", kept)
				}
			})
		})
	}
}

// The first request on a connection that was dialed in advance has as much time as any other.
func TestLateFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.run(t)
		conn := w.reviews.mustDial(t)
		elapse(89 * time.Second)
		fmt.Fprint(conn, "POST /echo HTTP/1.1\r\nHost: evergate\r\nContent-Length: 4\r\n\r\n12")
		elapse(20 * time.Second)
		go fmt.Fprint(conn, "34")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); string(body) != "1234" {
			t.Errorf("got %q, %v, want the body", body, err)
		}
		_ = conn.Close()
	})
}

// Peers that send less than they announced, or more than the limit, are disconnected within a limited time.
func TestHostilePeers(t *testing.T) {
	for name, tt := range map[string]struct {
		path, header string
		want         time.Duration
	}{
		"a header that never ends":            {"/echo", "A: b", 3 * time.Minute},
		"a body that is never sent":           {"/echo", "Content-Length: 9\r\n\r\n", bodyTimeout},
		"a body that is never sent, not read": {"/review", "Content-Length: 9\r\n\r\n", bodyTimeout},
		"headers without end": {"/review", strings.Repeat("A: b\r\n", maxHeaderBytes),
			500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.run(t)
				conn := w.reviews.mustDial(t)
				start, gone := time.Now(), goesAway(conn)
				go fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: evergate\r\n%s", tt.path, tt.header)
				if held := (<-gone).Sub(start); held > tt.want {
					t.Errorf("held for %s, want at most %s", held, tt.want)
				}
			})
		})
	}
}

func TestErrorLog(t *testing.T) {
	for line, level := range map[string]string{
		"http: TLS handshake error from 10.0.0.1:4711: EOF": "DEBUG",
		"http: panic serving 10.0.0.1:4711: oops":           "ERROR",
		"http: Accept error: too many open files":           "WARN",
	} {
		var r records
		newErrorLog(r.logger()).Print(line)
		want := fmt.Sprintf("level=%s msg=%q\n", level, line)
		if got := r.text(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
