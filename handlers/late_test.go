package handlers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Whether or not somebody waits for it, a lateContext ends as one of package context does.
func TestLateContext(t *testing.T) {
	errCut := errors.New("cut")
	for name, test := range map[string]struct {
		end   func(c *lateContext, cancelParent func())
		err   error
		cause error
	}{
		"nothing":  {func(*lateContext, func()) {}, nil, nil},
		"deadline": {func(*lateContext, func()) { time.Sleep(time.Second) }, context.DeadlineExceeded, context.DeadlineExceeded},
		"parent":   {func(_ *lateContext, cancelParent func()) { cancelParent() }, context.Canceled, context.Canceled},
		"cut": {func(c *lateContext, _ func()) {
			c.cutOff(errCut)
			c.cutOff(errors.New("again"))
		}, context.Canceled, errCut},
		"end": {func(c *lateContext, _ func()) { c.end() }, nil, nil},
	} {
		for _, awaited := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(t.Context())
					defer cancel()
					c := newLateContext(parent, time.Now().Add(time.Second))
					defer c.end()
					if awaited {
						child, cancel := context.WithCancel(c)
						defer cancel()
						defer func() {
							if (child.Err() != nil) != (c.Err() != nil) {
								t.Errorf("child: %v, itself: %v", child.Err(), c.Err())
							}
						}()
					}
					test.end(c, cancel)
					synctest.Wait()
					if awaited && name == "end" {
						test.err, test.cause = context.Canceled, context.Canceled
					}
					if err := c.Err(); !errors.Is(err, test.err) {
						t.Errorf("Err is %v, want %v", err, test.err)
					}
					if err := context.Cause(c); !errors.Is(err, test.cause) {
						t.Errorf("Cause is %v, want %v", err, test.cause)
					}
					if err := c.Err(); !errors.Is(err, test.err) {
						t.Errorf("asked for its cause: Err is %v, want %v", err, test.err)
					}
				})
			})
		}
	}
}

// What cut it is the cause, also when its deadline has passed before anybody asks.
func TestLateContextCutThenLate(t *testing.T) {
	c := newLateContext(t.Context(), time.Now().Add(-time.Second))
	defer c.end()
	errCut := errors.New("cut")
	c.cutOff(errCut)
	if err := context.Cause(c); !errors.Is(err, errCut) {
		t.Errorf("the cause is %v", err)
	}
}
