package policy

import (
	"errors"

	"github.com/evergate/evergate/policy/internal/strict"
)

// Problem is a mistake in a policy or a warning about an entry, with its position. Its JSON is an interface.
type Problem struct {
	File    string `json:"file,omitempty"`   // same as File.Name; empty if the problem is not about a file
	Line    int    `json:"line,omitempty"`   // counts from 1; 0 if it is not known
	Column  int    `json:"column,omitempty"` // in characters, like Line
	Path    string `json:"path,omitempty"`   // the field, as in ingresses[0].hosts.allowed; empty for a whole file
	Message string `json:"message"`
}

// String returns the position and the message on one line.
func (p Problem) String() string { return strict.Error{Pos: p.pos(), Msg: p.Message}.Error() }

// EntryPlace is the place of a policy entry that is not off, or of an exception.
type EntryPlace struct {
	Name  string
	Block string  // the block that contains it, such as ingresses or exceptions
	Place Problem // without Message
}

// EntryPlaces returns the places of all entries that are not off, including the entries in rule sets, and of all
// exceptions. Callers must not change the result.
func (p *Policy) EntryPlaces() []EntryPlace { return p.places }

// Problems returns the mistakes in an error from Load, in the order of files, lines and columns. It returns at most a
// hundred mistakes, and a last Problem that contains the number of the remaining mistakes. For any other error it
// returns one Problem without a position.
func Problems(err error) []Problem {
	if errs, ok := errors.AsType[strict.Errors](err); ok {
		return problemsOf(errs)
	}
	return []Problem{{Message: err.Error()}}
}

func (p *Problem) pos() strict.Pos {
	return strict.Pos{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path}
}

func problemsOf(errs strict.Errors) []Problem {
	problems := make([]Problem, len(errs))
	for i, e := range errs {
		problems[i] = Problem{e.File, e.Line, e.Column, e.Path, e.Msg}
	}
	return problems
}
