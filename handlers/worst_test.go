package handlers

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review/reviewtest/costliest"
	"github.com/evergate/evergate/telemetry"
)

// usage is everything that one review uses and that can be measured without a clock. "make worst" checks the processor
// time.
type usage struct {
	status    int
	allocated int64 // bytes
	answer    int   // bytes
	log       int   // bytes
}

// exceeds returns which limits a review with a body of this size exceeds.
func (u usage) exceeds(body int) (broken []string) {
	if limit := costliest.MaxAllocated(body); u.allocated > limit {
		broken = append(broken, "allocates")
	}
	if u.answer > costliest.MaxAnswer {
		broken = append(broken, "answer is too long")
	}
	if u.log > costliest.MaxLog {
		broken = append(broken, "log is too long")
	}
	return broken
}

// counter counts bytes.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// usageOf answers one review on a new server, which does not have memory to reuse and has not logged anything.
func usageOf(p *policy.Policy, path string, body []byte) (u usage) {
	var logged, answered counter
	h := servingOf(Config{
		Policies: fixed{p}, Ready: func() error { return nil }, Live: func() error { return nil },
		Metrics: telemetry.NewMetrics(prometheus.NewRegistry()),
		Log:     slog.New(slog.NewJSONHandler(&logged, nil)),
	})
	r := httptest.NewRequest(http.MethodPost, path+"?timeout=30s", io.NopCloser(bytes.NewReader(body)))
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(body))
	w := &counting{discard: discard{header: http.Header{}}, n: &answered}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	h.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	return usage{w.status, int64(after.TotalAlloc - before.TotalAlloc), int(answered), int(logged)}
}

// counting is a ResponseWriter that keeps the status, if it is not 200, and the length of the body.
type counting struct {
	discard
	n *counter
}

func (c *counting) Write(p []byte) (int, error) { return c.n.Write(p) }

// worstPolicy returns the policy for the worst reviews.
func worstPolicy(t testing.TB) *policy.Policy {
	t.Helper()
	p, err := policy.Load(policy.File{Name: "worst.yaml", Data: []byte(costliest.Ten())})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// skipWithRace skips a test of a review's allocations, which the race detector changes.
func skipWithRace(t testing.TB) {
	t.Helper()
	if costliest.Race() {
		t.Skip("make allocs runs this test, without the race detector")
	}
}

// TestWorst checks that no review uses more than its size allows, whatever its fields contain. It tries one part of the
// rows, which rotates with the code. "make worst" measures the built server with all rows.
func TestWorst(t *testing.T) {
	skipWithRace(t)
	parts := 61 // about 200 rows; with all rows, a test would take minutes
	if testing.Short() {
		parts = 601
	}
	part, err := costliest.Part(parts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("part %d of %d", part, parts)
	p := worstPolicy(t)
	type row struct {
		costliest.Row
		usage
		body int
	}
	var broken []row
	try := func(r costliest.Row, size int) {
		body := r.Body(size)
		u := usageOf(p, r.Path, body)
		if r.Object && u.status != 0 {
			t.Errorf("%s: answered %d: the contents of an object must never fail a call", r.Name, u.status)
		}
		if u.exceeds(len(body)) != nil {
			broken = append(broken, row{r, u, len(body)})
		}
	}
	for _, r := range costliest.Rows(parts, part) {
		try(r, 256<<10) // the maximum size of annotations
	}
	for _, r := range costliest.Rows(4*parts, part) {
		try(r, 1400<<10) // the maximum size of an object in etcd, which has longer lists
	}
	slices.SortFunc(broken, func(a, b row) int { return int(b.allocated - a.allocated) })
	for i, r := range broken {
		if i == 20 {
			t.Errorf("and %d more", len(broken)-i)
			break
		}
		t.Errorf("%s: %s: of %d bytes: %d allocated, at most %d; answer %d, log %d",
			r.Name, strings.Join(r.exceeds(r.body), ", "), r.body, r.allocated, costliest.MaxAllocated(r.body), r.answer, r.log)
	}
}

// Every endpoint that evaluates objects is tried. The retry webhook is the same as the first mutating webhook, and a
// policy has separate limits.
func TestWorstEndpoints(t *testing.T) {
	tried := map[string]bool{"/mutate/pods/again": true, "/validate/policy": true}
	for _, r := range costliest.Rows(1, 0) {
		tried[r.Path] = true
	}
	for _, r := range admission.Webhooks() {
		if !tried[r.Path] {
			t.Errorf("no row is sent to %s", r.Path)
		}
	}
}

// FuzzCost searches for a review that uses more than its size allows: any text, any number of times, in any field that
// affects decisions.
func FuzzCost(f *testing.F) {
	skipWithRace(f)
	texts := costliest.Texts()
	p := worstPolicy(f)
	units := []string{"\x7f", "<", "\"", ",", "a.", "10.0.0.0/8,", "2001:db8::", "https://u@h:1/", "[a]*", "{\"a\":"}
	for i, unit := range units {
		f.Add(uint16(i*13), unit, uint16(4096), i%2 == 0, uint8(i))
	}
	f.Fuzz(func(t *testing.T, text uint16, unit string, times uint16, many bool, choice uint8) {
		const most = 256 << 10 // of the body, without separators
		row := texts[int(text)%len(texts)].Repeated(unit, min(int(times), most/(len(unit)+1)), many, choice)
		body := row.Body(0)
		u := usageOf(p, row.Path, body)
		if u.status != 0 {
			t.Errorf("%s: answered %d", row.Name, u.status)
		}
		if broken := u.exceeds(len(body)); broken != nil {
			t.Errorf("%s, a body of %d bytes: %s: %+v", row.Name, len(body), strings.Join(broken, ", "), u)
		}
	})
}
