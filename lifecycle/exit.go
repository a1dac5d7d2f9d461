package lifecycle

import "errors"

// ExitFailed is the exit code of a process that failed to start or to serve. Exit code 0 says that the process drained:
// every client was answered. Exit code 2 is for bad flags and bad policies, and not of this package.
const ExitFailed = 1

const (
	exitForced = 3 // a second signal ended the shutdown early
	exitCutOff = 4 // the shutdown deadline closed connections that were in use
)

// ExitError is why a process ended other than by draining.
type ExitError struct {
	Code int // of the process
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

func (e *ExitError) Unwrap() error { return e.Err }

// exitError returns err with an exit code: its own where it carries one, else code.
func exitError(code int, err error) *ExitError {
	if e, ok := errors.AsType[*ExitError](err); ok {
		code = e.Code
	}
	return &ExitError{Code: code, Err: err}
}
