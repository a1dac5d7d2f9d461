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
	"github.com/evergate/evergate/telemetry"
)

// httpError is a response that is not an AdmissionReview. It explains the client's mistake, or why the review cannot be
// served now. For kube-apiserver, such a response is a failed call, and failurePolicy decides.
type httpError struct {
	status int
	msg    string // one sentence
	reason string // label in metrics, for a review that was not started
	allow  []string
	close  bool // close the connection after the response
}

func (e *httpError) Error() string { return e.msg }

// panicError is a panic while a review was decoded or decided.
type panicError struct {
	value any
	stack []byte
	uid   string // empty if not known
}

func (e *panicError) Error() string { return fmt.Sprint(e.value) }

// asHTTPError returns the response to a client whose review ended with err.
func asHTTPError(err error) *httpError {
	if e, ok := errors.AsType[*httpError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*review.Error](err); ok {
		return &httpError{status: e.Status, msg: e.Msg}
	}
	return &httpError{
		status: http.StatusInternalServerError,
		msg:    "a defect in Evergate stopped this review: its log has the details",
	}
}

// failureOf describes err for metrics, spans and the log.
func failureOf(err error) *telemetry.Failure {
	h := asHTTPError(err)
	f := &telemetry.Failure{Outcome: telemetry.Invalid, Status: h.status, Message: err.Error(), Reason: h.reason}
	if h.reason != "" {
		f.Outcome = telemetry.Rejected
	} else if p, ok := errors.AsType[*panicError](err); ok {
		f.Outcome, f.UID, f.Stack = telemetry.Panicked, p.uid, string(p.stack)
	}
	return f
}

// retryAfter is the shortest possible pause, because the header contains whole seconds.
const retryAfter = time.Second

// writeError writes all responses that are not reviews.
//
// kube-apiserver retries after 429 or 5xx with a Retry-After header (client-go, rest/with_retry.go). A retry helps if
// the review can be served a moment later or by another replica. It does not help after a panic, because the same
// review would cause it again on every replica, up to eleven times.
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
	// This does the same as http.Error, and also sets the length. Without it, the response would end only when its
	// handler returns, which is after the log line is written.
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(e.msg)+1))
	w.WriteHeader(e.status)
	_, _ = io.WriteString(w, e.msg+"\n")
}

// bodyBytes is the name of the memory for bodies in metrics and messages.
const bodyBytes = "body_bytes"

// shed turns an error of a limiter into the response for a review that was not started. limiter is the name of that
// limiter.
//
// It leaves the connection open. The handshake of a new connection costs as much as ten small reviews, which an
// overloaded server cannot afford. After an eviction, the connection is closed, because the rest of the body is not
// read.
func shed(err error, limiter string) error {
	switch {
	case errors.Is(err, limit.ErrEvicted):
		return &httpError{
			status: http.StatusTooManyRequests, reason: limiter + "_evicted", close: true,
			msg: "overloaded: this body was evicted for smaller bodies before it had arrived",
		}
	case errors.Is(err, context.Canceled):
		// The client does not read this response, unless the server itself ended the request.
		return &httpError{
			status: http.StatusServiceUnavailable, reason: "client_gone", close: true,
			msg: "the client has disconnected",
		}
	}
	return &httpError{
		status: http.StatusTooManyRequests, reason: limiter + "_timed_out",
		msg: "overloaded: no room for more " + limiter,
	}
}

func notFound(r *http.Request) *httpError {
	return &httpError{status: http.StatusNotFound, msg: fmt.Sprintf("nothing is served at %s", text.Quote(r.URL.Path))}
}

// methodNotAllowed returns an error that lists the methods of the path of r in routes. The router calls it for every
// path if the method is unknown.
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
