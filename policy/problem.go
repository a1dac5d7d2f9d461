package policy

import (
	"errors"

	"github.com/evergate/evergate/policy/internal/strict"
)

// Problem is a mistake in a policy, or a warning about an entry, at its place.
type Problem struct {
	File         string // as File.Name has it; empty where the problem is about no file
	Line, Column int    // from 1; Column counts characters; 0 where the problem is about no line
	Path         string // the field, as in ingresses[0].hosts.allowed; empty for a file as a whole
	Message      string
}

// Problems returns the mistakes that an error of Load is about, in the order of files, lines and columns: at most a
// hundred, and a last one that says how many more there are. Another error is one Problem without a place.
func Problems(err error) []Problem {
	if errs, ok := errors.AsType[strict.Errors](err); ok {
		return problemsOf(errs)
	}
	return []Problem{{Message: err.Error()}}
}

func problemsOf(errs strict.Errors) []Problem {
	problems := make([]Problem, len(errs))
	for i, e := range errs {
		problems[i] = Problem{e.File, e.Line, e.Column, e.Path, e.Msg}
	}
	return problems
}
