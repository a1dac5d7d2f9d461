package policy

import (
	"errors"
	"fmt"
)

// Effort counts what it costs to judge one object, and ends the judging where that is too much. The cost of an object is
// bounded by its bytes; that of judging it, by its elements times the rules that apply to it, which no limit on either
// alone would bound. An Effort belongs to one object and one review.
type Effort struct {
	// Expired is asked now and then while an object is judged. Once it returns true, the judging ends with ErrExpired. Nil
	// never does. It is the caller's: this package has no clock.
	Expired func() bool

	steps int
	err   error
}

const (
	// maxSteps is how many steps judging one object may take: an element that is compared with one pattern is a step, more
	// for each regular expression and for what is long. A step takes some 20 to 40 ns, so that they end within 50 ms. An
	// Ingress of 500 hosts under ten rules of every check takes 100,000.
	maxSteps = 1_000_000
	// stepsBetween is how many steps are taken, some 100 µs, before Expired is asked again.
	stepsBetween = 4096
	// stepBytes is how many bytes of a value are gone through in one step: searching, comparing and hashing take less than
	// a nanosecond a byte.
	stepBytes = 32
)

// ErrExpired says that an object was not judged in time.
var ErrExpired = errors.New("it could not be judged in time: make the object smaller")

// ErrTooCostly says that an object was not judged to its end, since that would take more than maxSteps.
var errTooCostly = fmt.Errorf("the rules that apply to this object need more than %d comparisons: make the object smaller", maxSteps)

// Steps returns how many steps have been taken.
func (e *Effort) Steps() int { return e.steps }

// spend counts n steps and returns whether the judging may go on.
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

// stepsOf returns how many steps it takes to go through a value n times.
func stepsOf(n int, value string) int { return n * (1 + len(value)/stepBytes) }
