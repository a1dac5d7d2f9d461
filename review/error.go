package review

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/jsonscan"
)

// Error says what the client did wrong: it sent something that is not a review, or not one of this endpoint. It is
// answered with a plain HTTP status, which kube-apiserver counts as a failed call.
type Error struct {
	Status int // of the HTTP answer
	Msg    string
}

func (e *Error) Error() string { return e.Msg }

func badRequest(format string, args ...any) *Error {
	return &Error{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// ContentError says what is wrong with an object in a well-formed review. The object's author must not be able to make
// the call fail, since failurePolicy might then admit the object: the answer is a denial.
type ContentError struct {
	UID string // of the review; empty when an object was parsed alone
	Msg string // names the field
	// Oversized says that the object has more text than an API server reads, so that none like it is stored. An update of
	// one that is stored changes it.
	Oversized bool
}

func (e *ContentError) Error() string { return e.Msg }

// reviewError turns what the reader found in a review into an Error or a ContentError.
func reviewError(body []byte, err error) error {
	content, ok := contentOf(err)
	if !ok {
		return clientError(err)
	}
	uid, ok := UID(body)
	if !ok {
		return badRequest("%s", content)
	}
	field, _ := errors.AsType[*jsonscan.ValueError](err)
	return &ContentError{UID: uid, Msg: content, Oversized: field != nil && field.Limit == jsonscan.TextLimit}
}

// isOldContent reports whether an error is about the content of the old object, or may be: of what is nested too deep
// it is not known where.
func isOldContent(err error) bool {
	field, ok := errors.AsType[*jsonscan.ValueError](err)
	return errors.Is(err, jsonscan.ErrTooDeep) || ok && strings.HasPrefix(field.Path, "request.oldObject")
}

// contentOf returns the sentence for an error that the content of an object can cause. What is over a limit counts
// wherever it is, since a user causes that too, by being in ten thousand groups.
func contentOf(err error) (string, bool) {
	if errors.Is(err, jsonscan.ErrTooDeep) {
		return fmt.Sprintf("the object is nested more than %d levels deep", jsonscan.MaxDepth), true
	}
	if field, ok := errors.AsType[*jsonscan.ValueError](err); ok {
		if path, ok := strings.CutPrefix(field.Path, "request.object."); ok {
			return path + ": " + field.Msg, true
		}
		path, ok := strings.CutPrefix(field.Path, "request.")
		if ok && (field.Limit != jsonscan.NoLimit || strings.HasPrefix(path, "oldObject.")) {
			return path + ": " + field.Msg, true
		}
	}
	return "", false
}

// objectError turns what the reader found in an object that came without a review into an Error or a ContentError.
func objectError(err error) error {
	if content, ok := contentOf(err); ok {
		return &ContentError{Msg: content}
	}
	if field, ok := errors.AsType[*jsonscan.ValueError](err); ok {
		return &ContentError{Msg: field.Error()}
	}
	return clientError(err)
}

// clientError turns an error that is not about content into an Error.
func clientError(err error) *Error {
	if protocol, ok := errors.AsType[*Error](err); ok {
		return protocol
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return badRequest("not JSON: byte %d: %v", syntax.ByteOffset, syntax.Err)
	}
	if errors.Is(err, io.EOF) {
		return badRequest("empty, want JSON")
	}
	return badRequest("%v", err)
}
