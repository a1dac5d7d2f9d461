package lifecycle

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBeforeReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		succeed := make(chan struct{})
		w.Probe = func(ctx context.Context) error {
			select {
			case <-succeed:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		w.run(t)
		c := w.reviews.client(t)
		checkCall(t, c, "/review", "503 close retry-after=1 not ready: listening")
		checkCall(t, c, "/nowhere", "503 close retry-after=1 not ready: listening")
		checkCall(t, c, "/readyz", "503 close not ready: listening") // of the handler: no Retry-After
		if n := w.answered.Load(); n != 0 {
			t.Errorf("%d reviews count as answered, want 0", n)
		}
		close(succeed)
		synctest.Wait()
		checkCall(t, c, "/review", "200")
		checkCall(t, c, "/readyz", "200")
		checkCall(t, c, "/nowhere", "404 404 page not found")
		if n := w.answered.Load(); n != 1 {
			t.Errorf("%d reviews count as answered, want 1: neither probes nor rejections", n)
		}
	})
}

// However a handler starts its response, it has the header Connection: close.
func TestGoodbyeHoweverAnswered(t *testing.T) {
	for name, answer := range map[string]func(rw http.ResponseWriter, signal func()){
		"nothing written": func(_ http.ResponseWriter, signal func()) { signal() },
		"header":          func(rw http.ResponseWriter, signal func()) { signal(); rw.WriteHeader(http.StatusTeapot) },
		"body":            func(rw http.ResponseWriter, signal func()) { signal(); fmt.Fprint(rw, "ok") },
		"flush": func(rw http.ResponseWriter, signal func()) {
			signal()
			_ = http.NewResponseController(rw).Flush()
		},
		"early hints": func(rw http.ResponseWriter, signal func()) {
			rw.WriteHeader(http.StatusEarlyHints)
			signal()
			rw.WriteHeader(http.StatusOK)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.signal) })
				w.run(t)
				resp, err := w.reviews.client(t).Get("http://evergate/")
				must(t, err)
				_ = resp.Body.Close()
				if !resp.Close {
					t.Error("the answer does not say Connection: close")
				}
			})
		})
	}
}

// Every request is answered once and with Connection: close, also if net/http itself answers.
func TestGoodbyeWhateverIsAsked(t *testing.T) {
	for name, tt := range map[string]struct{ request, want string }{
		"HEAD":                 {"HEAD /review HTTP/1.1\r\nHost: evergate\r\n\r\n", "HTTP/1.1 200 OK"},
		"OPTIONS *":            {"OPTIONS * HTTP/1.1\r\nHost: evergate\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"HTTP/1.0, kept alive": {"GET /review HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "HTTP/1.0 200 OK"},
		"HTTP/2 asked for": {"GET /review HTTP/1.1\r\nHost: evergate\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
			"HTTP/1.1 200 OK"},
		"HTTP/2 presumed": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		"pipelined": {strings.Repeat("GET /review HTTP/1.1\r\nHost: evergate\r\n\r\n", 2),
			"HTTP/1.1 200 OK"},
		"100-continue, read": {"POST /echo HTTP/1.1\r\nHost: evergate\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok",
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"},
		"100-continue, not read": {"POST /review HTTP/1.1\r\nHost: evergate\r\nExpect: 100-continue\r\nContent-Length: " +
			"2\r\n\r\nok",
			"HTTP/1.1 200 OK"},
		"another expectation": {"POST /echo HTTP/1.1\r\nHost: evergate\r\nExpect: 102-wait\r\nContent-Length: 2\r\n\r\nok",
			"HTTP/1.1 417 Expectation Failed"},
		"in chunks": {"POST /echo HTTP/1.1\r\nHost: evergate\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
			"HTTP/1.1 200 OK"},
		"no HTTP": {"hello\r\n\r\n", "HTTP/1.1 400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.run(t)
				w.signal()
				conn := w.reviews.mustDial(t)
				defer conn.Close()
				go fmt.Fprint(conn, tt.request)
				all, err := io.ReadAll(conn) // to the end of the connection
				must(t, err)
				header, ok := strings.CutPrefix(string(all), tt.want+"\r\n")
				if !ok || strings.Count(header, "Connection: close\r\n") != 1 || strings.Contains(header, "HTTP/1.") {
					t.Errorf("got %q, want one answer %q that says Connection: close", all, tt.want)
				}
			})
		})
	}
}

// If no handler reads a body, up to 256 KiB of it are read before the response. A longer body ends its connection.
func TestUnreadBodies(t *testing.T) {
	for size, want := range map[int]string{256 << 10: "200", 256<<10 + 1: "200 close"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.run(t)
			if got := post(w.reviews.client(t), "http://evergate/review", strings.Repeat("x", size)); got != want {
				t.Errorf("%d bytes: got %q, want %q", size, got, want)
			}
		})
	}
}

// A request without a body does not have a read deadline. net/http would treat the end of the deadline like a client
// that is gone, and would then cancel every request on the connection.
func TestNoBodyNoReadDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/long" {
				<-time.After(bodyTimeout + time.Second)
			}
			if err := r.Context().Err(); err != nil {
				fmt.Fprint(rw, err)
			}
		})
		w.run(t)
		c := w.reviews.client(t)
		checkCall(t, c, "/long", "200")
		checkCall(t, c, "/review", "200")
	})
}

// Flushed data arrives before the handler has ended.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			fmt.Fprint(rw, "ok")
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done() // the client has it, and goes
		})
		w.run(t)
		client := w.reviews.client(t)
		client.Timeout = time.Second
		resp, err := client.Get("http://evergate/")
		must(t, err)
		if _, err := io.ReadFull(resp.Body, make([]byte, 2)); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close()
	})
}

// After its maximum age, ±10 %, a connection is closed with a response. The server never closes it between requests.
func TestConnectionAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.run(t)
		ages := make(map[time.Duration]bool)
		for range 20 {
			c, dialled := w.reviews.client(t), time.Now()
			for {
				answer := call(c, "/review")
				if answer == "200 close" {
					break
				}
				if answer != "200" {
					t.Fatal(answer)
				}
				elapse(time.Second)
			}
			age := time.Since(dialled)
			ages[age] = true
			if age < 270*time.Second || age > 331*time.Second {
				t.Errorf("retired after %s, want 5m ±10 %%", age)
			}
			checkCall(t, c, "/review", "200") // on a new one
		}
		if len(ages) == 1 {
			t.Error("all connections were retired at the same age")
		}
	})
}

func TestConnectionsOfAnyAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.MaxConnectionAge = 0
		w.run(t)
		c := w.reviews.client(t)
		for range 100 {
			checkCall(t, c, "/review", "200")
			elapse(time.Minute)
		}
	})
}
