package lifecycle

import "errors"

// ExitFailed is the exit code of a process that failed to start or to serve. Exit code 0 means that the process drained
// and that every client was answered. Exit code 2 is for invalid flags and policies, and this package does not use it.
const ExitFailed = 1

const (
	exitForced = 3 // a second signal ended the shutdown early
	exitCutOff = 4 // the shutdown deadline closed connections that were in use
)

// ExitError is the reason that a process ended without a complete drain.
type ExitError struct {
	Code int // exit code of the process
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

func (e *ExitError) Unwrap() error { return e.Err }

// exitError returns err with an exit code: the code in err if err is an ExitError, otherwise code.
func exitError(code int, err error) *ExitError {
	if e, ok := errors.AsType[*ExitError](err); ok {
		code = e.Code
	}
	return &ExitError{Code: code, Err: err}
}
