package rule

import (
	"context"
	"testing"
)

// Comparisons are counted, and a context that is done is not polled again.
func TestComparisons(t *testing.T) {
	ctx := &polledContext{Context: t.Context(), cause: context.Canceled, last: 3}
	e := NewComparisons(ctx, 2)
	for i, want := range []bool{true, true, false} {
		if e.Compare() != want || e.made != i+1 || e.Over == want {
			t.Errorf("with a limit of 2: %+v", e)
		}
	}
	e = NewComparisons(ctx, 9)
	for range 2 {
		if e.Compare() || !e.PollDone() || e.Over {
			t.Errorf("out of time: %+v", e)
		}
	}
	if ctx.last, ctx.polls = 1, 0; !e.PollDone() || ctx.polls > 0 {
		t.Error("a context that is done was polled again")
	}
}

// polledContext is done after it has been polled last times.
type polledContext struct {
	context.Context
	cause       error
	polls, last int
}

func (c *polledContext) Err() error {
	if c.polls++; c.last > 0 && c.polls >= c.last {
		return c.cause
	}
	return nil
}
