package handlers

import (
	"context"
	"sync"
	"time"
)

// lateContext is a context that ends at a deadline, or when it is cut. It makes what a context is made of, a timer and an
// entry in its parent, only when somebody waits for it, which for most reviews nobody does: they would be the most that
// a small review allocates. The caller must call end.
type lateContext struct {
	parent   context.Context
	deadline time.Time

	mu     sync.Mutex
	why    error           // it was cut
	made   context.Context // nil until somebody waits
	cut    context.CancelCauseFunc
	cancel context.CancelFunc
}

func newLateContext(parent context.Context, deadline time.Time) *lateContext {
	return &lateContext{parent: parent, deadline: deadline}
}

// Deadline implements context.Context.
func (c *lateContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done implements context.Context.
func (c *lateContext) Done() <-chan struct{} { return c.make().Done() }

// Value implements context.Context, and so context.Cause.
func (c *lateContext) Value(key any) any { return c.make().Value(key) }

// Err implements context.Context.
func (c *lateContext) Err() error {
	c.mu.Lock()
	made, why := c.made, c.why
	c.mu.Unlock()
	switch {
	case made != nil:
		return made.Err()
	case why != nil:
		return context.Canceled
	case c.parent.Err() == nil && !time.Now().Before(c.deadline):
		return context.DeadlineExceeded
	}
	return c.parent.Err()
}

func (c *lateContext) make() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.cut = context.WithCancelCause(c.parent)
		if c.why != nil {
			c.cut(c.why) // before the deadline, which may have passed as well, can be the cause
		}
		c.made, c.cancel = context.WithDeadline(c.made, c.deadline)
	}
	return c.made
}

// cutOff ends the context. why is its cause.
func (c *lateContext) cutOff(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
	}
	if c.cut != nil {
		c.cut(why)
	}
}

// end gives back what was made.
func (c *lateContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made != nil {
		c.cancel()
		c.cut(nil)
	}
}
