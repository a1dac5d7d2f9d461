package strict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// Pos is a position in a file. Lines and columns count from 1. An error about YAML syntax has no column.
type Pos struct {
	File         string
	Line, Column int
	Path         string // the field, as in ingresses[0].hosts.allowed; empty for the document
}

// Errorf returns an error at p.
func (p Pos) Errorf(format string, args ...any) Error {
	return Error{Pos: p, Msg: text.Truncate(fmt.Sprintf(format, args...), maxMsg)}
}

// maxMsg is the maximum number of bytes in one error message. The longest messages that show a value have a few
// hundred.
const maxMsg = 1024

// String returns file:line:column, as compilers print it. It leaves out a column of 0, and also a line of 0.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Contains reports whether an error is about the value at p or about a value inside it.
func (p Pos) Contains(e Error) bool {
	rest, ok := strings.CutPrefix(e.Path, p.Path)
	return ok && e.File == p.File && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Error is one mistake in a file.
type Error struct {
	Pos
	Msg  string
	more int // number of errors that were only counted; 0 for an ordinary error
}

func (e Error) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Path == "":
		return e.Pos.String() + ": " + e.Msg
	}
	return e.Pos.String() + ": " + e.Path + ": " + e.Msg
}

// Errors contains the mistakes in all files, so a user can fix them together. It contains at most MaxErrors mistakes.
// If there are more, an additional last element contains the number of the others.
type Errors []Error

// MaxErrors is the maximum number of errors that are kept. It is more than a user fixes at a time.
const MaxErrors = 100

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Total returns the number of errors, including errors that are only counted.
func (es Errors) Total() int {
	n := 0
	for _, e := range es {
		n += max(1, e.more)
	}
	return n
}

// Collector collects errors. It keeps the first MaxErrors errors and only counts the others. A file with a mistake in
// each of a hundred thousand lines therefore takes as much memory as a file with a hundred mistakes. The zero value is
// ready to use.
type Collector struct {
	kept Errors
	more int
}

// TryAdd reports whether there is room for another error. It lets callers format only errors that are shown. If there
// is room, the caller must call Add. Otherwise, TryAdd counts the error.
func (c *Collector) TryAdd() bool {
	if len(c.kept) < MaxErrors {
		return true
	}
	c.more++
	return false
}

// Add keeps an error. Call it only after TryAdd has returned true.
func (c *Collector) Add(e Error) { c.kept = append(c.kept, e) }

// Errorf adds an error at p.
func (c *Collector) Errorf(p Pos, format string, args ...any) {
	if c.TryAdd() {
		c.Add(p.Errorf(format, args...))
	}
}

// Len returns the number of errors, including errors that are only counted.
func (c *Collector) Len() int { return len(c.kept) + c.more }

// Errors returns the kept errors, ordered by file, line and column. If there were more errors, the last element
// contains their number. Errors returns nil if the Collector is empty.
func (c *Collector) Errors() Errors {
	es := slices.Clone(c.kept)
	slices.SortStableFunc(es, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if c.more > 0 {
		es = append(es, Error{Msg: fmt.Sprintf("and %d more: fix these %d first", c.more, len(es)), more: c.more})
	}
	return es
}

// FieldError is an error that a Validate method returns for a field of its struct.
type FieldError struct {
	Field string // the field's name in the file
	Msg   string
}

func (e FieldError) Error() string { return e.Msg }

// Fieldf returns a FieldError.
func Fieldf(field, format string, args ...any) error {
	return FieldError{field, fmt.Sprintf(format, args...)}
}

// Faults collects the errors of a Validate method, with the same limit as a Collector. The zero value is ready to use.
type Faults struct {
	kept []error
	more int
}

// Add adds an error, which may be a FieldError, any other error or several joined errors. It ignores nil.
func (f *Faults) Add(err error) {
	switch {
	case err == nil:
	case len(f.kept) < MaxErrors:
		f.kept = append(f.kept, err)
	default:
		f.more++
	}
}

// Fieldf adds a FieldError.
func (f *Faults) Fieldf(field, format string, args ...any) {
	if len(f.kept) == MaxErrors {
		f.more++
		return
	}
	f.Add(Fieldf(field, format, args...))
}

// Err returns all errors as one error, or nil if Faults is empty.
func (f *Faults) Err() error {
	switch {
	case len(f.kept) == 0:
		return nil
	case f.more == 0:
		return errors.Join(f.kept...)
	}
	return errors.Join(append(f.kept, moreFaults(f.more))...)
}

// moreFaults is the number of errors that were not kept.
type moreFaults int

func (n moreFaults) Error() string { return fmt.Sprintf("and %d more", int(n)) }
