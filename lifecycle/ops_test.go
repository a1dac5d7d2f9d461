package lifecycle

import (
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
)

// newOps serves an ops port whose /page is large, on connections in memory, and counts the pages that are being made.
func newOps(t *testing.T, making *atomic.Int32) *pipeListener {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		if n := making.Add(1); n > 1 {
			t.Errorf("%d pages are made at one time", n)
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

// Readers of pages that are slow make room for others, the slowest first. Probes are answered all the while.
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
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || len(body) != 100<<10 || resp.StatusCode != http.StatusAccepted || resp.Header.Get("Made") != "yes" {
				t.Errorf("got %s, %v, %d bytes, %v", resp.Status, resp.Header, len(body), err)
			}
		}
	})
}
