package handlers

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

// fakeDecider decides reviews. A test observes it and holds it up.
type fakeDecider struct {
	started chan struct{} // one for each review that is decided
	proceed chan struct{} // each value lets one review continue
}

func newFakeDecider() fakeDecider {
	return fakeDecider{make(chan struct{}, 100), make(chan struct{}, 100)}
}

func (d fakeDecider) decide(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
	d.started <- struct{}{}
	<-d.proceed
	return &admission.Decision{}, nil
}

// decideFunc decides a review, whatever is in it.
type decideFunc func(*policy.Policy, *policy.Effort) (*admission.Decision, error)

// fakeWebhook returns a webhook whose reviews are decided by a function, whatever is in them.
func fakeWebhook(path string, decide decideFunc, strictest policy.Mode) admission.Webhook {
	return admission.Webhook{
		Path: path,
		Evaluate: func(
			p *policy.Policy, _ []byte, _ time.Time, e *policy.Effort, _ admission.Stage,
		) (*admission.Decision, error) {
			return decide(p, e)
		},
		Strictest: func(policy.Modes) policy.Mode { return strictest },
	}
}

// fake returns an endpoint, at /fake, whose reviews are decided by a function, and the handler that serves it and the
// probes.
func (f *fixture) fake(decide decideFunc) (*server, http.Handler) {
	s := newServer(f.Config)
	return s, s.serving(f.Config, []admission.Webhook{fakeWebhook("/fake", decide, policy.Enforce)})
}

func panics(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
	panic("index out of range [7]")
}

func TestPanic(t *testing.T) {
	f := newFixture(t, "")
	_, h := f.fake(panics)
	s := startTLS(t, h)
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",` +
		`"request":{"uid":"705ab4f5","object":{"secret":"s3cret"}}}`
	got := send(t, s.Client(), post(t.Context(), t, s.URL+"/fake", body))

	if got.status != 500 || got.body != "a defect in Evergate stopped this review: its log has the details\n" {
		t.Errorf("answered %d %q", got.status, got.body)
	}
	if got.header.Get("Retry-After") != "" {
		t.Error("the answer asks the API server to carry the review to the next replica")
	}
	s.Close() // waits for the handler, which logs after it has answered
	log := f.log.String()
	for _, want := range []string{
		`level=ERROR msg="panic during a review" path=/fake uid=705ab4f5 panic="index out of range [7]" stack="goroutine `,
		"handlers.panics",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "s3cret") {
		t.Errorf("the log shows the object:\n%s", log)
	}
	want := map[string]float64{"operation=unknown outcome=panicked path=/fake": 1}
	equal(t, want, f.counted(t, "evergate_reviews_total"), "counted")
	for _, name := range []string{"evergate_reviews_in_flight", "evergate_body_bytes_in_flight"} {
		if diff := cmp.Diff(map[string]float64{"": 0}, f.series(t, name)); diff != "" {
			t.Errorf("%s after the panic (-want +got):\n%s", name, diff)
		}
	}
}

func TestAbortHandlerIsPassedOn(t *testing.T) {
	f := newFixture(t, "")
	_, h := f.fake(func(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
		panic(http.ErrAbortHandler)
	})
	defer func() {
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http looks for
			t.Errorf("recovered %v, want http.ErrAbortHandler", p)
		}
	}()
	h.ServeHTTP(httptest.NewRecorder(), post(t.Context(), t, "/fake", "{}"))
	t.Error("the handler returned")
}

// Problems that the author of an object can cause get a decision and not an error. The strictest mode of the policy
// decides.
func TestContentIsAnsweredNotFailed(t *testing.T) {
	const why = "spec.containers[0].image: want a string, got a number"
	broken := func(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
		return nil, &review.ContentError{Head: review.Head{UID: "705ab4f5"}, Msg: why}
	}
	for _, mode := range []policy.Mode{policy.Off, policy.Audit, policy.Warn, policy.Enforce} {
		t.Run(mode.String(), func(t *testing.T) {
			f := newFixture(t, "")
			e := newServer(f.Config).endpoint(fakeWebhook("/fake", broken, mode))
			v, err := e.answer("", []byte("{}"), time.Second, newReview(e))
			must(t, err)
			want := review.Answer{UID: "705ab4f5", Allowed: true,
				AuditAnnotations: map[string]string{"policy": v.Policy}}
			if mode != policy.Off {
				want.AuditAnnotations["unevaluated"] = why + " (" + mode.String() + ")"
			}
			switch mode {
			case policy.Off, policy.Audit:
			case policy.Warn:
				want.Warnings = []string{"[warn " + v.Policy + "] not evaluated: " + why}
			case policy.Enforce:
				want.Allowed, want.Message = false, why+" [policy "+v.Policy+"]"
			}
			equal(t, want, v.Response(), "answer")
		})
	}
}

// zeros is a body of any length.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestTooLarge(t *testing.T) {
	const prefix = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5","object":"`
	tests := []struct {
		name   string
		prefix string
		size   int64
		status int
		body   string // a part of it
	}{
		{
			"25 MiB", prefix, 25 << 20, 200,
			"the review of this object has 25.0 MiB, at most 20.0 MiB are evaluated: make the object smaller [policy ",
		},
		{
			"25 MiB without a uid", "", 25 << 20, 413,
			"the body has 25.0 MiB, at most 20.0 MiB are read, and request.uid is not in its first 4096 bytes\n",
		},
	}
	f := newFixture(t, "")
	_, h := f.fake(func(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
		t.Error("the body was decided")
		return nil, errors.New("decided")
	})
	s := startTLS(t, h)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := io.LimitReader(io.MultiReader(strings.NewReader(tt.prefix), zeros{}), tt.size)
			req := post(t.Context(), t, s.URL+"/fake", "")
			req.Body, req.ContentLength = io.NopCloser(body), tt.size
			got := send(t, s.Client(), req)
			if got.status != tt.status || !strings.Contains(got.body, tt.body) {
				t.Errorf("answered %d %s, want %d %s", got.status, got.body, tt.status, tt.body)
			}
			if got.header.Get("Connection") != "" {
				t.Error("the connection was closed, although the body was read to its end")
			}
			if tt.status == 200 && (!strings.Contains(got.body, `"uid":"705ab4f5"`) ||
				!strings.Contains(got.body, `"allowed":false`)) {
				t.Errorf("not a denial of the review: %s", got.body)
			}
		})
	}
	if n := f.series(t, "evergate_reviews_total")["operation=unknown outcome=unevaluated path=/fake"]; n != 1 {
		t.Errorf("%v reviews were counted as unevaluated, want 1", n)
	}
}

func TestFarTooLarge(t *testing.T) {
	f := newFixture(t, "")
	s := startTLS(t, servingOf(f.Config))
	conn := raw(t, s, "POST /mutate/pods HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Content-Length: 68157440\r\n\r\n{")
	status, body, closed := readAnswer(t, conn)
	if want := "the body has 65.0 MiB: a review has at most 20.0 MiB\n"; status != 413 || body != want || !closed {
		t.Errorf("answered %d %q, close: %t", status, body, closed)
	}
}

func TestOverload(t *testing.T) {
	f := newFixture(t, "")
	f.Limits.Reviews = 1
	decider := newFakeDecider()
	server, h := f.fake(decider.decide)
	s := startTLS(t, h)

	first := make(chan answered)
	go func() { first <- send(t, s.Client(), post(t.Context(), t, s.URL+"/fake?timeout=30s", "{}")) }()
	<-decider.started

	// The API server retries after a second, over the same connection.
	got := send(t, s.Client(), post(t.Context(), t, s.URL+"/fake?timeout=1s", "{}"))
	if got.status != 429 || got.body != "overloaded: no room for more reviews\n" {
		t.Errorf("answered %d %q", got.status, got.body)
	}
	if got.header.Get("Retry-After") != "1" || got.header.Get("Connection") != "" {
		t.Errorf("answered with the header %v", got.header)
	}

	for _, path := range []string{"/livez", "/readyz"} {
		if got := send(t, s.Client(), get(t, s.URL+path)); got.status != 200 {
			t.Errorf("%s while no review is let in: %d %s", path, got.status, got.body)
		}
	}

	second := make(chan answered)
	go func() { second <- send(t, s.Client(), post(t.Context(), t, s.URL+"/fake?timeout=30s", "{}")) }()
	await(t, func() bool { return server.reviews.slots.Waiting() == 1 })
	decider.proceed <- struct{}{}
	decider.proceed <- struct{}{}
	if got := <-first; got.status != 200 {
		t.Errorf("the first: %d %s", got.status, got.body)
	}
	if got := <-second; got.status != 200 {
		t.Errorf("the one that waited: %d %s", got.status, got.body)
	}
	want := map[string]float64{"reason=reviews_timed_out": 1}
	equal(t, want, f.counted(t, "evergate_reviews_rejected_total"), "rejected")
	if log := f.log.String(); log != "" {
		t.Errorf("overload was logged:\n%s", log)
	}
}

// await waits for what another goroutine is about to do.
func await(t testing.TB, done func() bool) {
	t.Helper()
	for !done() {
		if t.Context().Err() != nil {
			t.Fatal("the test ended first")
		}
		runtime.Gosched()
	}
}

func TestNoWorkForClientsThatHaveGone(t *testing.T) {
	f := newFixture(t, "")
	f.Limits.Reviews = 1
	decider := newFakeDecider()
	server, h := f.fake(decider.decide)
	s := startTLS(t, h)

	first := make(chan answered)
	go func() { first <- send(t, s.Client(), post(t.Context(), t, s.URL+"/fake?timeout=30s", "{}")) }()
	<-decider.started

	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		resp, err := s.Client().Do(post(ctx, t, s.URL+"/fake?timeout=30s", "{}"))
		if err == nil { // the server was quicker to see that it had gone than it was itself
			_ = resp.Body.Close()
		}
	}()
	await(t, func() bool { return server.reviews.slots.Waiting() == 1 })
	hangUp()
	<-gone
	await(t, func() bool { return server.reviews.slots.Waiting() == 0 })

	decider.proceed <- struct{}{}
	<-first
	if len(decider.started) != 0 {
		t.Error("the review of a client that had gone was decided")
	}
	await(t, func() bool { return f.series(t, "evergate_reviews_rejected_total")["reason=client_gone"] == 1 })
}

// raw sends bytes as they are, and returns a connection from which the answer can be read.
func raw(t *testing.T, s *httptest.Server, text string) net.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", s.Listener.Addr().String(), s.Client().Transport.(*http.Transport).TLSClientConfig)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// readAnswer reads one answer, and whether the connection ends with it.
func readAnswer(t *testing.T, conn net.Conn) (status int, body string, closed bool) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(text), resp.Close
}

func TestSlowBody(t *testing.T) {
	t.Parallel() // it waits for nine tenths of a second
	f := newFixture(t, "")
	f.Limits.Reviews = 1
	decider := newFakeDecider()
	server, h := f.fake(decider.decide)
	s := startTLS(t, h)

	conn := raw(t, s, "POST /fake?timeout=1s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Content-Length: 20971520\r\n\r\n{")
	await(t, func() bool { return f.series(t, "evergate_body_bytes_in_flight")[""] > 0 })
	if n := f.series(t, "evergate_body_bytes_in_flight")[""]; n != firstBytes {
		t.Errorf("a peer that has sent one byte of twenty million holds %v bytes, want %d", n, firstBytes)
	}

	// Other requests are served meanwhile, because a client that is still sending does not occupy a slot.
	decider.proceed <- struct{}{}
	if got := send(t, s.Client(), post(t.Context(), t, s.URL+"/fake?timeout=30s", "{}")); got.status != 200 {
		t.Errorf("another review: %d %s", got.status, got.body)
	}

	status, body, closed := readAnswer(t, conn)
	if want := "time is up, and 1 of 20971520 bytes of the body have arrived\n"; status != 408 || body != want || !closed {
		t.Errorf("answered %d %q, close: %t", status, body, closed)
	}
	await(t, func() bool { return f.series(t, "evergate_body_bytes_in_flight")[""] == 0 })
	if server.reviews.slots.Waiting() != 0 {
		t.Error("a body still waits for memory")
	}
}

func TestBodyThatEndsEarly(t *testing.T) {
	f := newFixture(t, "")
	decider := newFakeDecider()
	_, h := f.fake(decider.decide)
	s := startTLS(t, h)
	conn := raw(t, s, "POST /fake HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Content-Length: 100\r\n\r\n{}").(*tls.Conn)
	must(t, conn.CloseWrite())
	status, body, closed := readAnswer(t, conn)
	if status != 400 || body != "the body ended after 2 of 100 bytes\n" || !closed {
		t.Errorf("answered %d %q, close: %t", status, body, closed)
	}
	if len(decider.started) != 0 {
		t.Error("half of a review was decided")
	}
}

// fakeMemory returns an endpoint with size bytes for bodies.
func fakeMemory(t *testing.T, size int64) (*fixture, *endpoint) {
	t.Helper()
	f := newFixture(t, "")
	s := newServer(f.Config)
	s.reviews.memory = limit.NewMemory(size, f.Metrics.BodyBytesInFlight())
	return f, s.endpoint(admission.Webhook{Path: "/fake"})
}

func TestBodyIsPaidForAsItArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e := fakeMemory(t, 64<<20)
		held := e.capacity.memory.Reserve(func() {})
		reader, writer := io.Pipe()
		const length = 3 << 20
		r := &http.Request{Body: reader, ContentLength: length}
		read := make(chan []byte, 1)
		go func() {
			body, err := e.readBody(t.Context(), r, time.Now().Add(time.Minute), held, newReview(e))
			if err != nil {
				t.Error(err)
			}
			read <- body
		}()
		text := strings.Repeat("0123456789abcde\n", length/16)
		sent := 0
		for _, step := range []struct{ sent, held int }{
			{0, 16 << 10}, {16<<10 - 1, 16 << 10}, {16 << 10, 256 << 10}, {256<<10 - 1, 256 << 10},
			{256 << 10, length}, {length, length},
		} {
			if _, err := io.WriteString(writer, text[sent:step.sent]); err != nil {
				t.Fatal(err)
			}
			sent = step.sent
			synctest.Wait()
			if n := f.series(t, "evergate_body_bytes_in_flight")[""]; n != float64(step.held) {
				t.Errorf("%v bytes are held after %d have arrived, want %d", n, step.sent, step.held)
			}
		}
		if body := <-read; string(body) != text {
			t.Errorf("what was read is not what was sent")
		}
	})
}

func TestBodyBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, e := fakeMemory(t, 10<<10)
		read := func() error {
			held := e.capacity.memory.Reserve(func() {})
			defer held.Release()
			r := &http.Request{Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 3<<10))), ContentLength: 3 << 10}
			_, err := e.readBody(t.Context(), r, time.Now().Add(time.Second), held, newReview(e))
			return err
		}
		decided := e.capacity.memory.Reserve(func() {})
		must(t, decided.Grow(t.Context(), time.Now().Add(time.Second), 8<<10, nil))
		must(t, decided.Arrived())
		if err := read(); err == nil || asHTTPError(err).reason != "body_bytes_timed_out" {
			t.Errorf("a body for which there is no room: %v", err)
		}
		decided.Release()
		if err := read(); err != nil {
			t.Errorf("and once there is: %v", err)
		}
		if n := f.series(t, "evergate_body_bytes_in_flight")[""]; n != 0 {
			t.Errorf("%v bytes are still held", n)
		}
	})
}

// A body that is evicted while it arrives is rejected, and its connection closed.
func TestBodyIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := fakeMemory(t, 20<<10)
		reader, writer := io.Pipe()
		large := e.capacity.memory.Reserve(func() { _ = writer.CloseWithError(os.ErrDeadlineExceeded) })
		failed := make(chan error, 1)
		go func() {
			defer large.Release()
			r := &http.Request{Body: reader, ContentLength: 16 << 10}
			_, err := e.readBody(t.Context(), r, time.Now().Add(time.Minute), large, newReview(e))
			failed <- err
		}()
		synctest.Wait()
		small := e.capacity.memory.Reserve(func() {})
		defer small.Release()
		if err := small.Grow(t.Context(), time.Now().Add(time.Minute), 8<<10, nopWait); err != nil {
			t.Error(err)
		}
		got := asHTTPError(<-failed)
		want := &httpError{
			status: 429, reason: "body_bytes_evicted", close: true,
			msg: "overloaded: this body was evicted for smaller bodies before it had arrived",
		}
		if got.status != want.status || got.reason != want.reason || got.msg != want.msg || !got.close {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func nopWait() func() { return func() {} }

// A goroutine that can run, such as one with a new request, does not wait for all reviews that queue.
func TestDecisionsBetweenTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const reviews, slots = 200, 2
	var decided atomic.Int64
	f := newFixture(t, "")
	f.Limits.Reviews = slots
	_, h := f.fake(func(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
		decided.Add(1)
		return &admission.Decision{}, nil
	})
	var answered atomic.Int64
	for range reviews {
		go func() {
			h.ServeHTTP(httptest.NewRecorder(), fakeReview())
			answered.Add(1)
		}()
	}
	most := int64(0)
	for before := decided.Load(); answered.Load() < reviews; {
		runtime.Gosched()
		now := decided.Load()
		most, before = max(most, now-before), now
	}
	// Five times the slots, because Go sometimes runs a goroutine that has yielded before the others. Without slots,
	// nearly all goroutines run first.
	if most > 5*slots {
		t.Errorf("with %d slots %d reviews were decided between two runs of a goroutine that could run", slots, most)
	}
}

func fakeReview() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/fake", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	return r
}

func TestDeadlines(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		query         string
		queue, answer time.Duration
	}{
		{"?timeout=3s", 2400 * time.Millisecond, 2700 * time.Millisecond},
		{"?timeout=1s", 800 * time.Millisecond, 900 * time.Millisecond},
		{"?timeout=500ms", 400 * time.Millisecond, 400 * time.Millisecond},
		{"?timeout=10s", 9 * time.Second, 9 * time.Second},
		{"?timeout=30s", 29 * time.Second, 29 * time.Second},
		{"?timeout=1h", 29 * time.Second, 29 * time.Second}, // the API server has no such thing
		{"", 9 * time.Second, 9 * time.Second},
		{"?timeout=", 9 * time.Second, 9 * time.Second},
		{"?timeout=soon", 9 * time.Second, 9 * time.Second},
		{"?timeout=0s", 9 * time.Second, 9 * time.Second},
		{"?timeout=-3s", 9 * time.Second, 9 * time.Second},
		{"?timeout=%33s&x=y", 2400 * time.Millisecond, 2700 * time.Millisecond},
		{"?timeout=%33s", 2400 * time.Millisecond, 2700 * time.Millisecond},
		{"?timeout=+3s", 9 * time.Second, 9 * time.Second}, // a plus is a blank there
	} {
		got := deadlinesOf(httptest.NewRequest(http.MethodPost, "/mutate/pods"+tt.query, nil), start, false)
		if q, a := got.queue.Sub(start), got.answer.Sub(start); q != tt.queue || a != tt.answer {
			t.Errorf("%q: queues %v of %v, want %v of %v", tt.query, q, a, tt.queue, tt.answer)
		}
	}
}

// The number of series depends only on the policy, and not on the requests of clients.
func TestLabelsAreBounded(t *testing.T) {
	f := newFixture(t, "")
	f.Log = slog.New(slog.DiscardHandler)
	n := 0
	_, h := f.fake(func(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
		n++
		ref := fmt.Sprintf("registry-%d.example/image:%d", n, n)
		return &admission.Decision{
			Head: review.Head{UID: fmt.Sprint(n), Attributes: object.Attributes{
				Operation: object.Operation(fmt.Sprintf("OPERATION-%d", n)), Namespace: fmt.Sprintf("ns-%d", n),
				Name: ref, User: ref, Resource: ref, Subresource: ref,
			}},
			Rewriting: policy.Rewriting{Images: []policy.ImageOutcome{
				{Image: object.Image{Name: ref, Ref: ref}, Outcome: policy.Rewritten, Entry: "hub", To: "mirror.example/" + ref},
				{Image: object.Image{Name: ref, Ref: ref}, Outcome: policy.Malformed, Detail: ref},
			}},
			Findings: []policy.Finding{{Rule: "only-mirrors", Check: "images.from", Mode: policy.Warn, Path: ref, Reason: ref}},
		}, nil
	})
	const reviews = 10_000
	for range reviews {
		h.ServeHTTP(httptest.NewRecorder(), post(t.Context(), t, "/fake", "{}"))
	}
	for name, want := range map[string]map[string]float64{
		"evergate_reviews_total":           {"operation=other outcome=allowed path=/fake": reviews},
		"evergate_review_duration_seconds": {"path=/fake": reviews},
		"evergate_findings_total":          {"check=images.from existed=false mode=warn rule=only-mirrors": reviews},
		"evergate_images_total":            {"entry=hub outcome=rewritten": reviews, "entry= outcome=malformed": reviews},
	} {
		equal(t, want, f.counted(t, name), name)
	}
}

// An error response has a Content-Length, so its end does not wait for later work such as logging.
func TestErrorsHaveTheirLength(t *testing.T) {
	s := startTLS(t, servingOf(newFixture(t, "").Config))
	got := send(t, s.Client(), post(t.Context(), t, s.URL+"/validate/pods", "{}"))
	if length := got.header.Get("Content-Length"); got.status != http.StatusBadRequest ||
		length != strconv.Itoa(len(got.body)) {
		t.Errorf("%d, length %s of %d", got.status, length, len(got.body))
	}
}
