package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/telemetry"
)

const (
	// firstBytes is how much of a body is read before more memory is reserved for it. It is the size of a TLS record,
	// and larger than most reviews. The first bytes of all connections that may be open take half of the memory that
	// can be reserved.
	firstBytes = 16 << 10
	// growth is the ratio between reserved bytes and bytes that have arrived, up to limit.MaxBuffer. One step reaches
	// that size, so only the first bytes of almost every review are copied. A peer that announces 20 MiB and sends 16
	// KiB reserves 256 KiB.
	growth = 16
	// headBytes is how much of a body is searched for its head if the rest is not read or is not JSON. kube-apiserver
	// writes kind, apiVersion and request.uid first, in 150 bytes, and the names and the user before the object.
	headBytes = 4 << 10
	// maxDiscardBytes is the longest body that is read to its end so that the client reads the response. kube-apiserver
	// never sends a longer body, and reading one would be work that an attacker can cause.
	maxDiscardBytes = 64 << 20
)

// checkHeader returns an error if the headers show that the request is not a valid review.
func checkHeader(r *http.Request) error {
	const want = "application/json"
	contentType := r.Header.Get("Content-Type")
	mediaType := contentType
	if mediaType != want { // not as kube-apiserver writes it, which does not need parsing
		if parsed, _, err := mime.ParseMediaType(contentType); err == nil {
			mediaType = parsed
		}
	}
	switch {
	case mediaType != want:
		return &httpError{
			status: http.StatusUnsupportedMediaType,
			msg:    fmt.Sprintf("Content-Type is %s: send %s", text.Quote(contentType), want),
		}
	case r.ContentLength < 0:
		return &httpError{
			status: http.StatusLengthRequired,
			msg:    "there is no Content-Length: send it so that memory can be reserved for the body",
		}
	case r.ContentLength > maxDiscardBytes:
		return &httpError{
			status: http.StatusRequestEntityTooLarge, close: true,
			msg: fmt.Sprintf("the body has %s: a review has at most %s", mebibytes(r.ContentLength), mebibytes(maxReviewBytes)),
		}
	}
	return nil
}

// readBody reads the body of r into memory that is reserved for it. It reserves more memory only as bytes arrive, so a
// client cannot reserve much by announcing a long body. Once limit.MaxBuffer bytes have arrived, it reserves the
// announced length. Bodies that wait for memory hold little of it, so there is always a body that has all the memory it
// needs and can finish.
func (e *endpoint) readBody(ctx context.Context, r *http.Request, queue time.Time,
	memory *limit.Reservation, observed *telemetry.Review) (body []byte, err error) {
	waits := func() func() { return observed.Waiting("memory") }
	defer func() {
		if arrived := memory.Arrived(); arrived != nil {
			body, err = nil, shed(arrived, bodyBytes)
		}
	}()
	for len(body) < int(r.ContentLength) {
		size := r.ContentLength
		if have := int64(len(body)); have < limit.MaxBuffer {
			size = min(size, max(firstBytes, growth*have))
		}
		if err := memory.Grow(ctx, queue, size, waits); err != nil {
			return nil, shed(err, bodyBytes)
		}
		have := len(body)
		grown := e.buffers.Get(size)
		copy(grown, body)
		e.buffers.Put(body)
		body = grown
		if n, err := io.ReadFull(r.Body, body[have:]); err != nil {
			return nil, bodyError(err, int64(have+n), r.ContentLength)
		}
	}
	return body, nil
}

// skipBody reads a body that is over the limit to its end, because the client then reads the response. It returns the
// head of the review.
func skipBody(r *http.Request) (head review.Head, err error) {
	first := make([]byte, headBytes)
	n, err := io.ReadFull(r.Body, first)
	if err != nil {
		return head, bodyError(err, int64(n), r.ContentLength)
	}
	rest, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return head, bodyError(err, int64(n)+rest, r.ContentLength)
	}
	head, ok := review.ReadHead(first)
	if !ok {
		return head, &httpError{
			status: http.StatusRequestEntityTooLarge,
			msg: fmt.Sprintf("the body has %s, at most %s are read, and request.uid is not in its first %d bytes",
				mebibytes(r.ContentLength), mebibytes(maxReviewBytes), headBytes),
		}
	}
	return head, nil
}

// bodyError returns the error for a body that ended too early. It closes the connection, because the rest of the body
// may still arrive.
func bodyError(err error, got, want int64) error {
	e := &httpError{status: http.StatusBadRequest, close: true}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		e.status = http.StatusRequestTimeout
		e.msg = fmt.Sprintf("time is up, and %d of %d bytes of the body have arrived", got, want)
		return e
	}
	e.msg = fmt.Sprintf("the body ended after %d of %d bytes", got, want)
	return e
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
