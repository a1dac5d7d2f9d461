package handlers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

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
	_, h := f.fake(func(*policy.Policy, *policy.Effort) (*admission.Decision, error) {
		n++
		return &admission.Decision{UID: fmt.Sprint("review-", n)}, nil
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
