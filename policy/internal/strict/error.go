package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file. Lines and columns count from 1.
type Pos struct {
	File         string
	Line, Column int
	Path         string // the field, as in ingresses[0].hosts.allowed; empty for the document
}

// Errorf makes an error that points at p.
func (p Pos) Errorf(format string, args ...any) Error {
	return Error{Pos: p, Msg: fmt.Sprintf(format, args...)}
}

// String is file:line:column, as compilers write it.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Error is one thing that is wrong in a file.
type Error struct {
	Pos
	Msg string
}

func (e Error) Error() string {
	if e.Path == "" {
		return e.Pos.String() + ": " + e.Msg
	}
	return e.Pos.String() + ": " + e.Path + ": " + e.Msg
}

// Errors is everything that is wrong in files: a user mends all of it in one go.
type Errors []Error

// Sort puts es in the order of files, lines and columns.
func (es Errors) Sort() {
	slices.SortStableFunc(es, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// FieldError is returned by a Validate method to point at a field of its struct.
type FieldError struct {
	Field string // the field's name in the file
	Msg   string
}

func (e FieldError) Error() string { return e.Msg }

// Fieldf makes a FieldError.
func Fieldf(field, format string, args ...any) error {
	return FieldError{field, fmt.Sprintf(format, args...)}
}
