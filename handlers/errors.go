package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/review"
)

// httpError is an answer that is not a review: what the client did wrong, or why the review is not served now. To
// kube-apiserver each of them is a failed call, about which failurePolicy decides.
type httpError struct {
	status int
	msg    string // one sentence
	reason string // in metrics, of a review that was not started
	allow  []string
	close  bool // the connection is not to be used again
}

func (e *httpError) Error() string { return e.msg }

// panicError is a panic while a review was decoded or decided.
type panicError struct {
	value any
	stack []byte
	uid   string // empty when not known
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// asHTTPError returns the answer to a client whose review ended in err.
func asHTTPError(err error) *httpError {
	if e, ok := errors.AsType[*httpError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*review.Error](err); ok {
		return &httpError{status: e.Status, msg: e.Msg}
	}
	return &httpError{
		status: http.StatusInternalServerError,
		msg:    "this review met a defect of Evergate, which is in its log",
	}
}

// retryAfter is the shortest pause but none: the header has whole seconds.
const retryAfter = time.Second

// writeError writes every answer that is not a review.
//
// kube-apiserver tries again when 429 or 5xx comes with Retry-After (client-go, rest/with_retry.go). That helps when
// a moment later, or another replica, may serve the review. It does not help against a panic: the same review would
// meet it on every replica, up to eleven times.
func writeError(w http.ResponseWriter, err error) {
	e := asHTTPError(err)
	h := w.Header()
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	if e.allow != nil {
		h.Set("Allow", strings.Join(e.allow, ", "))
	}
	if e.close {
		h.Set("Connection", "close")
	}
	// As http.Error, but with the length: without it, the answer would end when its handler does, after the log.
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(e.msg)+1))
	w.WriteHeader(e.status)
	_, _ = io.WriteString(w, e.msg+"\n")
}

// bodyBytes is the memory of bodies, in metrics and sentences.
const bodyBytes = "body_bytes"

// shed turns an error of a limiter into the answer of a review that was not started. what names the limiter.
//
// It leaves the connection open: the handshake of a new one costs as much as ten small reviews, and an overloaded
// server cannot afford that. After an eviction the rest of the body is not read, so the connection is closed.
func shed(err error, what string) error {
	switch {
	case errors.Is(err, limit.ErrEvicted):
		return &httpError{
			status: http.StatusTooManyRequests, reason: what + "_evicted", close: true,
			msg: "overloaded: this body was evicted for smaller ones before it had arrived",
		}
	case errors.Is(err, context.Canceled):
		// The client does not read this, unless the server itself has ended the request.
		return &httpError{
			status: http.StatusServiceUnavailable, reason: "client_gone", close: true,
			msg: "the client has gone",
		}
	}
	return &httpError{
		status: http.StatusTooManyRequests, reason: what + "_timed_out",
		msg: "overloaded: no room for more " + what,
	}
}

func notFound(r *http.Request) *httpError {
	return &httpError{status: http.StatusNotFound, msg: fmt.Sprintf("nothing is served at %s", text.Quote(r.URL.Path))}
}

// methodNotAllowed names the methods that routes has for the path of r. An unknown method comes here for any path.
func methodNotAllowed(routes chi.Routes, r *http.Request) *httpError {
	var allow []string
	for _, m := range []string{http.MethodGet, http.MethodPost} {
		if routes.Match(chi.NewRouteContext(), m, r.URL.Path) {
			allow = append(allow, m)
		}
	}
	if allow == nil {
		return notFound(r)
	}
	return &httpError{
		status: http.StatusMethodNotAllowed,
		msg: fmt.Sprintf("%s is not served at %s: send %s", text.Truncate(r.Method, text.Short),
			text.Truncate(r.URL.Path, text.Short), strings.Join(allow, " or ")),
		allow: allow,
	}
}
