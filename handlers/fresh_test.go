package handlers

import (
	"context"
	"errors"
	"testing"

	"github.com/evergate/evergate/internal/limit"
)

// The metrics contain exactly the reasons of the limiters, before the first rejection.
func TestReasonsBeginAtZero(t *testing.T) {
	f := newFixture(t, testPolicy)
	s := newServer(f.Config)
	got := f.series(t, "evergate_reviews_rejected_total")
	reasons := map[string]bool{}
	for _, name := range []string{s.reviews.name, s.guard.name, bodyBytes} {
		for _, err := range []error{limit.ErrEvicted, context.Canceled, context.DeadlineExceeded} {
			if !errors.Is(err, limit.ErrEvicted) || name == bodyBytes { // only bodies are evicted
				reasons[asHTTPError(shed(err, name)).reason] = true
			}
		}
	}
	for reason := range reasons {
		if n, ok := got["reason="+reason]; !ok || n != 0 {
			t.Errorf("%s begins at %v, %t", reason, n, ok)
		}
	}
	if len(got) != len(reasons) {
		t.Errorf("there are %v, and of reasons %v", got, reasons)
	}
}

// The series of denials and failures exist before the first one is counted.
func TestOutcomesBeginAtZero(t *testing.T) {
	f := newFixture(t, testPolicy)
	h := servingOf(f.Config)
	before := f.series(t, "evergate_reviews_total")
	for _, n := range before {
		if n != 0 {
			t.Errorf("before the first review: %v", before)
		}
	}
	for _, operation := range []string{"CREATE", "UPDATE"} {
		record(t, h, "/validate/pods", reviewOf("", "pods", operation, podOf("nginx"), ""))
	}
	record(t, h, "/validate/pods", `{"apiVersion":1}`)
	after := f.series(t, "evergate_reviews_total")
	if len(after) != len(before) {
		t.Errorf("series appeared: %v, and there were %v", after, before)
	}
	var n float64
	for _, labels := range []string{"CREATE outcome=denied", "UPDATE outcome=denied", "unknown outcome=invalid"} {
		n += after["operation="+labels+" path=/validate/pods"]
	}
	if n != 3 {
		t.Errorf("three reviews count as %v", after)
	}
}
