package policy

import (
	"errors"
	"fmt"
)

// Effort counts the steps of judging one object, and ends the judging at a limit. The cost of judging grows with the
// elements of the object times the rules that apply to it, which no limit on either alone would bound. An Effort is for
// one object of one review. Its error is ErrExpired or one that says that the limit is exceeded; either means that the
// object was not judged to its end.
type Effort struct {
	// Expired is called every 4096 steps. When it returns true, the judging ends with ErrExpired. Nil never expires.
	// The caller provides it, since this package has no clock.
	Expired func() bool

	steps int
	err   error
}

const (
	// maxSteps is how many steps judging one object may take. Comparing an element with one pattern is a step; long
	// values and regular expressions take more. A step takes some 20 to 40 ns, so all end within 50 ms. An Ingress of
	// 500 hosts under ten rules of every check takes 100,000.
	maxSteps = 1_000_000
	// stepsBetween is how many steps, some 100 µs, are between two calls of Expired.
	stepsBetween = 4096
	// stepBytes is how many bytes of a value are read in one step: searching, comparing and hashing take less than a
	// nanosecond a byte.
	stepBytes = 32
)

// ErrExpired means that an object was not judged to its end, since the Effort expired.
var ErrExpired = errors.New("it could not be judged in time: make the object smaller")

// errTooCostly means that an object was not judged to its end, since that would take more than maxSteps.
var errTooCostly = fmt.Errorf(
	"the rules that apply to this object need more than %d comparisons: make the object smaller", maxSteps)

// Steps returns how many steps have been taken.
func (e *Effort) Steps() int { return e.steps }

// spend counts n steps and reports whether the judging may continue.
func (e *Effort) spend(n int) bool {
	before := e.steps
	e.steps += n
	switch {
	case e.err != nil:
	case e.steps > maxSteps:
		e.err = errTooCostly
	case e.Expired != nil && e.steps/stepsBetween != before/stepsBetween && e.Expired():
		e.err = ErrExpired
	}
	return e.err == nil
}

// stepsOf returns how many steps it takes to read a value n times.
func stepsOf(n int, value string) int { return n * (1 + len(value)/stepBytes) }
