package lifecycle

import "errors"

// Exit codes of the process. 0 says that it drained: every caller was answered.
const (
	ExitFailed = 1 // failed to start or to serve
	ExitUsage  = 2 // bad flags or a bad policy
	ExitForced = 3 // a second signal cut the shutdown short
	ExitCutOff = 4 // the shutdown deadline cut somebody off
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
