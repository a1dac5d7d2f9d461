package handlers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// lateWriter sends the written bytes only when it is flushed.
type lateWriter struct {
	http.ResponseWriter
	before  func() // called before each Flush
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

// The memory of a response is reused after it is sent, and not after it is written.
func TestAnswerIsSentFirst(t *testing.T) {
	f := newFixture(t, "")
	n := 0
	_, h := f.fake(func(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
		n++
		return &admission.Decision{Head: review.Head{UID: fmt.Sprint("review-", n)}}, nil
	})
	review := func(w http.ResponseWriter) {
		r := httptest.NewRequest(http.MethodPost, "/fake", strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
	}
	first := httptest.NewRecorder()
	review(&lateWriter{ResponseWriter: first, before: func() {
		for range 10 { // with the race detector, sync.Pool drops some elements
			review(httptest.NewRecorder())
		}
	}})
	if got := first.Body.String(); !strings.Contains(got, `"review-1"`) {
		t.Errorf("the first was answered with %s", got)
	}
}
