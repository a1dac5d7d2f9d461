package rule

import (
	"errors"
	"strings"
	"testing"
)

// The last allowed step and the first step above the limit. The first error is kept.
func TestEffortSpend(t *testing.T) {
	var e Effort
	if e.Spend(maxSteps-1) != nil || e.Spend(1) != nil || !errors.Is(e.Spend(1), errTooCostly) {
		t.Errorf("%d steps: %v", e.Steps(), e.err)
	}
	e.Expired = func() bool { return true }
	if !errors.Is(e.Spend(stepsBetween), errTooCostly) {
		t.Errorf("after the first error: %v", e.err)
	}
	if e.Steps() != 1_000_001+stepsBetween || errTooCostly.Error() != "the rules that apply to this object need more than 1000000 "+
		"comparisons: make the object smaller" {
		t.Errorf("%d steps: %v", e.Steps(), errTooCostly)
	}
	e = Effort{Expired: func() bool { return true }}
	if e.Spend(stepsBetween-1) != nil || e.Spend(1) == nil || !errors.Is(e.Spend(maxSteps), ErrExpired) {
		t.Errorf("out of time: %v", e.err)
	}
	if got := StepsOf(2, strings.Repeat("x", 64)); got != 6 {
		t.Errorf("to go twice through 64 bytes takes %d steps", got)
	}
}
