package offline

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/evergate/evergate/offline/output"
)

// Origin is the place of an object in the input. Numbers start at 1; 0 means unknown.
type Origin struct {
	File     string
	Document int // in the file
	Item     int // in the List that the document contains; 0 if the document is the object
	Line     int // the first line of the object; for an item of a YAML List, the first line of the List
}

// String returns FILE:LINE, like compilers do, and the item if there is one.
func (o Origin) String() string {
	s := output.Place{File: o.File, Line: o.Line}.String()
	if o.Item > 0 {
		s += ": item " + strconv.Itoa(o.Item)
	}
	return s
}

// inputError describes a mistake in the input, and how to fix it.
type inputError struct {
	Origin
	Err error

	foreign  bool // the document is not meant as a manifest
	unparsed bool // the text is not YAML or JSON
}

// asInputError returns the inputError that an error is or wraps.
func asInputError(err error) (*inputError, bool) { return errors.AsType[*inputError](err) }

// Error includes the document, because a line number misleads users who count documents.
func (e *inputError) Error() string {
	at := e.Origin
	if e.Document > 1 {
		at.File, at.Line = fmt.Sprintf("%s: document %d", output.Place{File: e.File, Line: e.Line}, e.Document), 0
	}
	return at.String() + ": " + e.Err.Error()
}

func (e *inputError) Unwrap() error { return e.Err }

// Errorf returns an error about the object at the origin.
func (o Origin) Errorf(format string, args ...any) error {
	return &inputError{Origin: o, Err: fmt.Errorf(format, args...)}
}

// fileError returns err without the name of the file, which is already in the origin.
func (o Origin) fileError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return &inputError{Origin: o, Err: err}
}
