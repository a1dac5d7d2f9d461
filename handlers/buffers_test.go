package handlers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

func TestBuffers(t *testing.T) {
	var b buffers
	for size, want := range map[int64]int{
		1: 4 << 10, 4 << 10: 4 << 10, 4<<10 + 1: 8 << 10, 13_000: 16 << 10, 32 << 10: 32 << 10, 32<<10 + 1: 64 << 10,
		97_000: 96 << 10, 162_600: 160 << 10, mostBytes: mostBytes,
		mostBytes + 1: mostBytes + 1, maxReviewBytes: maxReviewBytes, 0: 4 << 10,
	} {
		for range 3 {
			got := b.get(size)
			if int64(len(got)) != size || cap(got) != want {
				t.Errorf("%d: got %d bytes and room for %d, want room for %d", size, len(got), cap(got), want)
			}
			b.put(got)
		}
	}
	b.put(nil)
	b.put(make([]byte, 5000)) // from elsewhere
	if got := b.get(5000); cap(got) != 8<<10 {
		t.Errorf("got room for %d bytes", cap(got))
	}
}

// lateWriter sends what was written when it is flushed, and not before.
type lateWriter struct {
	http.ResponseWriter
	before  func() // it does
	written []byte
}

func (w *lateWriter) Write(p []byte) (int, error) {
	w.written = p
	return len(p), nil
}

func (w *lateWriter) Flush() {
	w.before()
	_, _ = w.ResponseWriter.Write(w.written)
}

// The memory of an answer is used again when it is sent, not when it is written.
func TestAnswerIsSentFirst(t *testing.T) {
	f := newFixture(t, "")
	n := 0
	_, h := f.fake(func(*policy.Policy, []byte, *policy.Effort, *telemetry.ReviewSpan) (*verdict, error) {
		n++
		return &verdict{uid: fmt.Sprint("review-", n)}, nil
	})
	review := func(w http.ResponseWriter) {
		r := httptest.NewRequest(http.MethodPost, "/fake", strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
	}
	first := httptest.NewRecorder()
	review(&lateWriter{ResponseWriter: first, before: func() {
		for range 10 { // some of what goes back is lost where the race detector watches
			review(httptest.NewRecorder())
		}
	}})
	if got := first.Body.String(); !strings.Contains(got, `"review-1"`) {
		t.Errorf("the first was answered with %s", got)
	}
}
