package policy

import "context"

// comparisons limits how many comparisons between entries and patterns are made. If entries have much in common, this
// number can grow with the square of the size of the policy.
type comparisons struct {
	ctx       context.Context
	limit     int
	made      int
	over      bool // the limit is exceeded
	cancelled bool // the context is done
}

// newComparisons returns a count of comparisons that stops at limit, and when ctx is done.
func newComparisons(ctx context.Context, limit int) *comparisons {
	return &comparisons{ctx: ctx, limit: limit}
}

// tooMany reports whether the limit is exceeded, and returns the limit.
func (e *comparisons) tooMany() (limit int, over bool) { return e.limit, e.over }

// compare counts one comparison, and reports whether it may be made.
func (e *comparisons) compare() bool { return e.spend(1) }

// spend counts n comparisons, and reports whether they may be made.
func (e *comparisons) spend(n int) bool {
	if e.made += n; e.made > e.limit {
		e.over = true
	}
	return !e.over && !e.pollDone()
}

// pollDone checks the context, and reports whether it is done.
func (e *comparisons) pollDone() bool {
	e.cancelled = e.cancelled || e.ctx.Err() != nil
	return e.cancelled
}
