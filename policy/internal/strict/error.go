package strict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// Pos is a position in a file. Lines and columns count from 1.
type Pos struct {
	File         string
	Line, Column int
	Path         string // the field, as in ingresses[0].hosts.allowed; empty for the document
}

// Errorf returns an error at p.
func (p Pos) Errorf(format string, args ...any) Error {
	return Error{Pos: p, Msg: text.Truncate(fmt.Sprintf(format, args...), maxMsg)}
}

// maxMsg bounds the bytes of one error. The longest sentences that show a value have some hundreds.
const maxMsg = 1024

// String returns file:line:column, as compilers write it.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Contains reports whether an error is about the value at p, or about one in it.
func (p Pos) Contains(e Error) bool {
	rest, ok := strings.CutPrefix(e.Path, p.Path)
	return ok && e.File == p.File && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Error is one mistake in a file.
type Error struct {
	Pos
	Msg  string
	more int // how many other errors it stands for
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

// Errors is the mistakes in files, all together, so that a user fixes them in one go. It is never longer than
// MaxErrors: of a truncated list the last one says how many more there are.
type Errors []Error

// MaxErrors is how many errors are kept: more than an operator fixes at a time.
const MaxErrors = 100

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Total returns how many errors there are, including those that are only counted.
func (es Errors) Total() int {
	n := 0
	for _, e := range es {
		n += max(1, e.more)
	}
	return n
}

// Collector collects errors. It keeps the first MaxErrors and counts the others, so that a file with a mistake in each
// of a hundred thousand lines costs no more memory than one with a hundred. Its zero value is ready to use.
type Collector struct {
	kept Errors
	more int
}

// TryAdd counts an error and reports whether there is room for it, so that callers format only what is shown. If there
// is room, the caller must Add the error.
func (c *Collector) TryAdd() bool {
	if len(c.kept) < MaxErrors {
		return true
	}
	c.more++
	return false
}

// Add keeps an error that TryAdd had room for.
func (c *Collector) Add(e Error) { c.kept = append(c.kept, e) }

// Errorf adds an error at p.
func (c *Collector) Errorf(p Pos, format string, args ...any) {
	if c.TryAdd() {
		c.Add(p.Errorf(format, args...))
	}
}

// Len returns how many errors there were.
func (c *Collector) Len() int { return len(c.kept) + c.more }

// Errors returns the kept errors, in the order of files, lines and columns, and how many more there were; nil when
// there was none.
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

// FieldError is an error of a Validate method about a field of its struct.
type FieldError struct {
	Field string // the field's name in the file
	Msg   string
}

func (e FieldError) Error() string { return e.Msg }

// Fieldf returns a FieldError.
func Fieldf(field, format string, args ...any) error {
	return FieldError{field, fmt.Sprintf(format, args...)}
}

// Faults collects the errors of a Validate method, as a Collector does. Its zero value is ready to use.
type Faults struct {
	kept []error
	more int
}

// Add adds an error: nil, a FieldError, another one, or several joined.
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

// Err returns all of them as one error; nil when there is none.
func (f *Faults) Err() error {
	switch {
	case len(f.kept) == 0:
		return nil
	case f.more == 0:
		return errors.Join(f.kept...)
	}
	return errors.Join(append(f.kept, moreFaults(f.more))...)
}

// moreFaults is how many faults are not kept.
type moreFaults int

func (n moreFaults) Error() string { return fmt.Sprintf("and %d more", int(n)) }
