package lifecycle

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// newOps serves an ops port with a large /page, on connections in memory. It counts the pages that are being created.
func newOps(t *testing.T, making *atomic.Int32) *pipeListener {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		if n := making.Add(1); n > 1 {
			t.Errorf("%d pages are created at one time", n)
		}
		defer making.Add(-1)
		w.Header().Set("Made", "yes")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, strings.Repeat("x", 100<<10))
	})
	l := newPipeListener()
	s := newOpsServer(mux, func(r *http.Request) bool { return r.URL.Path == "/livez" }, slog.New(slog.DiscardHandler))
	go serve(s, l, func(error) {})
	t.Cleanup(func() { s.Close() })
	return l
}

// Slow readers of pages make room for others, the slowest first. Probes are answered all the time.
func TestSlowReadersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newOps(t, new(atomic.Int32))
		var readers []net.Conn
		for range maxPages + 2 {
			conn := l.mustDial(t)
			fmt.Fprint(conn, "GET /page HTTP/1.1\r\nHost: evergate\r\n\r\n")
			synctest.Wait()
			readers = append(readers, conn)
		}
		checkCall(t, l.client(t), "/livez", "200")
		for i, conn := range readers {
			go fmt.Fprint(conn, "GET /livez HTTP/1.1\r\nHost: evergate\r\nConnection: close\r\n\r\n")
			text, _ := io.ReadAll(conn)
			whole := bytes.Contains(text, bytes.Repeat([]byte("x"), 100<<10))
			if want := i >= 2; whole != want {
				t.Errorf("reader %d has had its page: %t, want %t", i, whole, want)
			}
		}
	})
}

func TestPageIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newOps(t, new(atomic.Int32))
		for range 3 {
			resp, err := l.client(t).Get("http://evergate/page")
			must(t, err)
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || len(body) != 100<<10 || resp.StatusCode != http.StatusAccepted || resp.Header.Get("Made") != "yes" {
				t.Errorf("got %s, %v, %d bytes, %v", resp.Status, resp.Header, len(body), err)
			}
		}
	})
}

// A slow reader is cut off if there are too many slow readers. A reader that has received its page does not count.
func TestSlowReaderIsSpared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newOps(t, new(atomic.Int32))
		slow := l.mustDial(t)
		fmt.Fprint(slow, "GET /page HTTP/1.1\r\nHost: evergate\r\n\r\n")
		synctest.Wait()
		others := l.client(t)
		for range 2 * maxPages {
			resp, err := others.Get("http://evergate/page")
			must(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			synctest.Wait() // until the server has seen that it reads
		}
		resp, err := http.ReadResponse(bufio.NewReader(slow), nil)
		must(t, err)
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 100<<10 {
			t.Errorf("%d bytes, %v", n, err)
		}
		_ = resp.Body.Close()
		_ = slow.Close()
	})
}

// Pages are created one at a time, and not for a reader that has disconnected.
func TestPagesAreMadeOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun int
		proceed := make(chan struct{})
		l := newPipeListener()
		s := newOpsServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			begun++
			<-proceed
		}), nil, slog.New(slog.DiscardHandler))
		go serve(s, l, func(error) {})
		defer s.Close()
		var readers []net.Conn
		for range 3 {
			conn := l.mustDial(t)
			fmt.Fprint(conn, "GET /page HTTP/1.1\r\nHost: evergate\r\n\r\n")
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			synctest.Wait()
			readers = append(readers, conn)
		}
		if begun != 1 {
			t.Errorf("%d pages are created at one time", begun)
		}
		_ = readers[1].Close()
		synctest.Wait()
		for range 2 {
			proceed <- struct{}{}
			synctest.Wait()
		}
		if begun != 2 {
			t.Errorf("%d pages were created, want two: one of the three readers has disconnected", begun)
		}
		for _, conn := range readers {
			_ = conn.Close()
		}
	})
}

// A request to the ops port is short, whatever its path is.
func TestOpsHeadersAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newOps(t, new(atomic.Int32))
		for size, want := range map[int]int{4 << 10: http.StatusOK, 6 << 10: http.StatusRequestHeaderFieldsTooLarge} {
			conn := l.mustDial(t)
			go fmt.Fprintf(conn, "GET /livez HTTP/1.1\r\nHost: evergate\r\nConnection: close\r\nA: %s\r\n\r\n",
				strings.Repeat("x", size))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			must(t, err)
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("a header of %d bytes is answered with %s", size, resp.Status)
			}
			_ = conn.Close()
		}
		elapse(time.Second) // net/http closes a connection that has sent too much after some time
	})
}
