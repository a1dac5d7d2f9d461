package offline

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// Origin is the place in the input where an object stands. Numbers count from 1; 0 means not known.
type Origin struct {
	File     string
	Document int // in the file
	Item     int // in the List that the document is; 0 when it is an object itself
	Line     int // where the object begins; for an item of a YAML List, where the List begins
}

// String is FILE:LINE, as compilers write it, and the item where there is one.
func (o Origin) String() string {
	s := o.File
	if o.Line > 0 {
		s += ":" + strconv.Itoa(o.Line)
	}
	if o.Item > 0 {
		s += ": item " + strconv.Itoa(o.Item)
	}
	return s
}

// inputError says where the input cannot be understood, and what would be right.
type inputError struct {
	Origin
	Err error

	foreign  bool // it is about the text, which may not be meant as a manifest
	template bool // what cannot be read has actions of templates
	suite    bool // it has no kind, and has the cases of a test suite
}

// asInputError returns the inputError that an error is or wraps.
func asInputError(err error) (*inputError, bool) { return errors.AsType[*inputError](err) }

// Error names the document too: "line 3" alone misleads users that count documents.
func (e *inputError) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	if e.Document > 1 {
		s += ": document " + strconv.Itoa(e.Document)
	}
	if e.Item > 0 {
		s += ": item " + strconv.Itoa(e.Item)
	}
	return s + ": " + e.Err.Error()
}

func (e *inputError) Unwrap() error { return e.Err }

// Errorf returns an error about what stands there.
func (o Origin) Errorf(format string, args ...any) error {
	return &inputError{Origin: o, Err: fmt.Errorf(format, args...)}
}

// fileError is err without the name of the file, which the origin says already.
func (o Origin) fileError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return &inputError{Origin: o, Err: err}
}
