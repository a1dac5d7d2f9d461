package rule

import (
	"errors"
	"fmt"
)

// Effort counts the steps of evaluating one object, and ends the evaluation at a limit. The cost of an evaluation grows
// with the number of elements in the object times the number of rules that apply to it, so a limit on only one of these
// numbers would not bound it. Use a new Effort for each object of each review. The zero value is ready to use. The
// error of an Effort is ErrExpired or reports that the limit is exceeded. In both cases the evaluation did not finish.
type Effort struct {
	// Expired is called every 4096 steps. When it returns true, the evaluation ends with ErrExpired. If Expired is nil,
	// the Effort never expires. The caller provides it, because this package has no clock.
	Expired func() bool

	steps int
	err   error
}

const (
	// maxSteps is the maximum number of steps for evaluating one object. Comparing an element with one pattern is a step.
	// Long values and regular expressions take more. A step takes about 20 to 50 ns, so all steps end within 50 ms. An
	// Ingress of 500 hosts under ten rules with every check takes 100,000 steps.
	maxSteps = 1_000_000
	// stepsBetween is the number of steps, about 100 µs, between two calls of Expired.
	stepsBetween = 4096
	// StepBytes is the number of bytes of a value that one step reads. Searching, comparing and hashing take less than a
	// nanosecond per byte.
	StepBytes = 32
)

// ErrExpired means that the evaluation of an object did not finish, because the Effort expired.
var ErrExpired = errors.New("it could not be evaluated in time: make the object smaller")

// errTooCostly means that the evaluation of an object did not finish, because it needs more than maxSteps.
var errTooCostly = fmt.Errorf(
	"the rules that apply to this object need more than %d comparisons: make the object smaller", maxSteps)

// Steps returns the number of steps taken so far.
func (e *Effort) Steps() int { return e.steps }

// Spend counts n steps. It returns the error of the Effort if the evaluation must end. A nil Effort does not count
// steps.
func (e *Effort) Spend(n int) error {
	if e == nil {
		return nil
	}
	before := e.steps
	e.steps += n
	switch {
	case e.err != nil:
	case e.steps > maxSteps:
		e.err = errTooCostly
	case e.Expired != nil && e.steps/stepsBetween != before/stepsBetween && e.Expired():
		e.err = ErrExpired
	}
	return e.err
}

// StepsOf returns the number of steps for reading a value n times.
func StepsOf(n int, value string) int { return n * (1 + len(value)/StepBytes) }
