package lifecycle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pipeListener is a listener in memory. Its connections are net.Pipes, which a fake clock can wait for.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// mustDial opens a connection that the listener must accept.
func (l *pipeListener) mustDial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := l.dial(t.Context())
	must(t, err)
	return conn
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// client returns an HTTP client that keeps its connections until the end of the test.
func (l *pipeListener) client(t *testing.T) *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return l.dial(ctx)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// records is a log and an observer.
type records struct {
	mu      sync.Mutex
	log     bytes.Buffer
	lasted  map[string]time.Duration // by phase
	probes  []string                 // results
	evicted int
	observe func(from, to string)
}

func (r *records) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

func (r *records) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// phase returns how long a phase lasted.
func (r *records) phase(name string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lasted[name]
}

func (r *records) results() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.probes...)
}

func (r *records) PhaseChanged(from, to string, lasted time.Duration, _ int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lasted == nil {
		r.lasted = make(map[string]time.Duration)
	}
	r.lasted[from] = lasted
	if r.observe != nil {
		r.observe(from, to)
	}
}

func (r *records) SelfProbed(result string, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probes = append(r.probes, result)
}

func (r *records) ConnectionEvicted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.evicted++
}

func (r *records) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// world is a process together with its environment.
type world struct {
	*Process
	records records
	reviews *pipeListener
	ops     *pipeListener
	signals chan os.Signal
	result  chan error
	reached chan struct{} // receives for each request for /slow and /stuck
	slowly  chan struct{} // closed to answer these requests
}

// newWorld returns a process with the default times, a probe that succeeds, and a handler. The handler answers /review
// and /echo immediately, /slow when the test allows it or when its context is done, and /stuck only when the test
// allows it.
func newWorld() *world {
	w := &world{
		reviews: newPipeListener(), ops: newPipeListener(), signals: make(chan os.Signal), result: make(chan error, 1),
		slowly: make(chan struct{}), reached: make(chan struct{}, 100),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/review", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/echo", func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // data that is not read before the response is lost
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = rw.Write(body)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.reached <- struct{}{}
		select {
		case <-w.slowly:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/stuck", func(http.ResponseWriter, *http.Request) {
		w.reached <- struct{}{}
		<-w.slowly
	})
	health := http.NewServeMux()
	health.HandleFunc("/readyz", func(rw http.ResponseWriter, _ *http.Request) { report(rw, w.Ready()) })
	health.HandleFunc("/livez", func(rw http.ResponseWriter, _ *http.Request) { report(rw, w.Live()) })
	mux.Handle("/readyz", health)
	w.Process = &Process{
		Open:             func(context.Context) (net.Listener, error) { return w.reviews, nil },
		Handler:          mux,
		Exempt:           func(r *http.Request) bool { return r.URL.Path == "/readyz" },
		Probe:            func(context.Context) error { return nil },
		OpsListener:      w.ops,
		OpsHandler:       health,
		DrainDelay:       DefaultDrainDelay,
		DrainTimeout:     DefaultDrainTimeout,
		ShutdownTimeout:  DefaultShutdownTimeout,
		MaxConnectionAge: DefaultMaxConnectionAge,
		MaxConnections:   DefaultMaxConnections,
		Log:              w.records.logger(),
		Observer:         &w.records,
	}
	return w
}

func report(rw http.ResponseWriter, err error) {
	if err != nil {
		http.Error(rw, err.Error(), http.StatusServiceUnavailable)
	}
}

// run starts the process and returns when it only waits. At the end of the test its context ends, and a process must
// drain unless the test has already checked its end.
func (w *world) run(t *testing.T) {
	ended := make(chan struct{})
	go func() {
		w.result <- w.Run(t.Context(), w.signals)
		close(ended)
	}()
	t.Cleanup(func() {
		<-ended
		select {
		case err := <-w.result:
			checkExit(t, err, 0, "")
		default:
		}
	})
	synctest.Wait()
}

// signal sends SIGTERM and returns when the process has acted on it.
func (w *world) signal() {
	w.signals <- syscall.SIGTERM
	synctest.Wait()
}

// elapse advances the fake clock by d, and lets everything happen that is due in that time.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func call(c *http.Client, path string) string { return post(c, "http://evergate"+path, "") }

// post makes a call and returns its response in short form: the status, then Connection, Retry-After and the body if
// present.
func post(c *http.Client, url, body string) string {
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	s := fmt.Sprint(resp.StatusCode)
	if resp.Close {
		s += " close"
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		s += " retry-after=" + after
	}
	if len(text) > 0 {
		s += " " + string(bytes.TrimSpace(text))
	}
	return s
}

func checkCall(t *testing.T, c *http.Client, path, want string) {
	t.Helper()
	if got := call(c, path); got != want {
		t.Errorf("%s: got %q, want %q", path, got, want)
	}
}

// checkEnd waits for the end of the process and checks its exit code and the sentence, if any.
func (w *world) checkEnd(t *testing.T, code int, sentence string) {
	t.Helper()
	checkExit(t, <-w.result, code, sentence)
}

func checkExit(t *testing.T, err error, code int, sentence string) {
	t.Helper()
	var gotCode int
	var got string
	if err != nil {
		var e *ExitError
		if !errors.As(err, &e) {
			t.Fatalf("Run returned %T %v, want an *ExitError", err, err)
		}
		gotCode, got = e.Code, e.Error()
	}
	if gotCode != code || got != sentence {
		t.Errorf("ended with code %d %q, want code %d %q", gotCode, got, code, sentence)
	}
}

func checkPhase(t *testing.T, w *world, name string, lasted time.Duration) {
	t.Helper()
	if got := w.records.phase(name); got != lasted {
		t.Errorf("%s lasted %s, want %s", name, got, lasted)
	}
}

func checkError(t *testing.T, what string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = cmp.Or(err.Error(), "an error without words")
	}
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
