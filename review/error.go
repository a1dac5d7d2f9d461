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

// Error is a mistake of the client: the request is not a review, or the endpoint does not support the review. The
// server answers with a plain HTTP status, which kube-apiserver counts as a failed call.
type Error struct {
	Status int // of the HTTP answer
	Msg    string
}

func (e *Error) Error() string { return e.Msg }

func badRequest(format string, args ...any) *Error {
	return &Error{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// ContentError is an error in an object of a well-formed review. The answer is a denial: if the object's author could
// make the call fail, failurePolicy might admit the object.
type ContentError struct {
	Head        // of the review; empty if the object was parsed without a review
	Msg  string // contains the field
	// Oversized is true if the object has more text than an API server reads. The API server cannot have stored such an
	// object, so an update with this object changes the stored object.
	Oversized bool
}

func (e *ContentError) Error() string { return e.Msg }

// reviewError converts an error from reading a review into an Error or a ContentError.
func reviewError(body []byte, err error) error {
	content, ok := contentOf(err)
	if !ok {
		return clientError(err)
	}
	head, ok := ReadHead(body)
	if !ok {
		return badRequest("%s", content)
	}
	field, _ := errors.AsType[*jsonscan.ValueError](err)
	return &ContentError{Head: head, Msg: content, Oversized: field != nil && field.Limit == jsonscan.TextLimit}
}

// isOldContent reports whether an error is, or may be, about the content of the old object. It returns true if the
// review is nested too deep, because the path is not known then.
func isOldContent(err error) bool {
	field, ok := errors.AsType[*jsonscan.ValueError](err)
	return errors.Is(err, jsonscan.ErrTooDeep) || ok && strings.HasPrefix(field.Path, "request.oldObject")
}

// contentOf returns the message for an error that the content of an object can cause. It returns false for other
// errors. An exceeded limit counts in every field of the request, because users can cause it too, for example with ten
// thousand groups.
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

// objectError converts an error from reading an object without a review into an Error or a ContentError.
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
