package rule

import "context"

// Comparisons limits how many comparisons between entries and patterns are made. If entries have much in common, this
// number can grow with the square of the size of the policy.
type Comparisons struct {
	ctx       context.Context
	limit     int
	made      int
	Over      bool // the limit is exceeded
	cancelled bool // the context is done
}

// NewComparisons returns a count of comparisons that stops at limit, and when ctx is done.
func NewComparisons(ctx context.Context, limit int) *Comparisons {
	return &Comparisons{ctx: ctx, limit: limit}
}

// Limit reports whether the limit is exceeded, and returns the limit.
func (e *Comparisons) Limit() (limit int, over bool) { return e.limit, e.Over }

// Compare counts one comparison, and reports whether it may be made.
func (e *Comparisons) Compare() bool { return e.Spend(1) }

// Spend counts n comparisons, and reports whether they may be made.
func (e *Comparisons) Spend(n int) bool {
	if e.made += n; e.made > e.limit {
		e.Over = true
	}
	return !e.Over && !e.PollDone()
}

// PollDone checks the context, and reports whether it is done.
func (e *Comparisons) PollDone() bool {
	e.cancelled = e.cancelled || e.ctx.Err() != nil
	return e.cancelled
}
