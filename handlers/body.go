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
	// firstBytes is how much of a body is read before more is reserved for it: a TLS record, and more than most reviews
	// have. The first bytes of all connections that may be open are half of what can be reserved.
	firstBytes = 16 << 10
	// growth is how many times the bytes that have arrived are reserved, up to limit.MaxBuffer. One step reaches that, so
	// that nearly every review is copied only in its first bytes, and a peer that announced 20 MiB and sent 16 KiB holds
	// 256 KiB.
	growth = 16
	// uidBytes is how much of a body is searched for its uid where the rest is not read, or is not JSON. kube-apiserver
	// writes kind, apiVersion and request.uid first, in 150 bytes.
	uidBytes = 4 << 10
	// maxDiscardBytes is the longest body that is read to its end so that the client reads the answer. kube-apiserver
	// sends none that is longer, and reading one would be work for an attacker.
	maxDiscardBytes = 64 << 20
)

// checkHeader refuses what can be refused without looking at the body.
func checkHeader(r *http.Request) error {
	contentType := r.Header.Get("Content-Type")
	switch {
	case !isJSON(contentType):
		return &httpError{
			status: http.StatusUnsupportedMediaType,
			msg:    fmt.Sprintf("Content-Type is %s: send application/json", text.Quote(contentType)),
		}
	case r.ContentLength < 0:
		return &httpError{
			status: http.StatusLengthRequired,
			msg:    "there is no Content-Length: send it, so that memory can be reserved for the body",
		}
	case r.ContentLength > maxDiscardBytes:
		return &httpError{
			status: http.StatusRequestEntityTooLarge, close: true,
			msg: fmt.Sprintf("the body has %s: a review has at most %s", mebibytes(r.ContentLength), mebibytes(maxReviewBytes)),
		}
	}
	return nil
}

func isJSON(contentType string) bool {
	const want = "application/json"
	if contentType == want {
		return true // as kube-apiserver writes it
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == want
}

// readBody reads the body of r into memory that is reserved for it. It reserves more only as bytes arrive, so that a
// client reserves little by announcing much. A body of which limit.MaxBuffer has arrived reserves all that was
// announced. Bodies that wait for memory hold little of it, so that there is always one that has all it needs and ends.
func (e *endpoint) readBody(ctx context.Context, r *http.Request, queue time.Time,
	memory *limit.Reservation, span *telemetry.ReviewSpan) (body []byte, err error) {
	waits := func() func() { return span.Waiting("memory") }
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

// skipBody reads a body that is over the limit to its end, so that the client reads the answer, and returns its uid.
func skipBody(r *http.Request) (uid string, err error) {
	first := make([]byte, uidBytes)
	n, err := io.ReadFull(r.Body, first)
	if err != nil {
		return "", bodyError(err, int64(n), r.ContentLength)
	}
	rest, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return "", bodyError(err, int64(n)+rest, r.ContentLength)
	}
	uid, ok := review.UID(first)
	if !ok {
		return "", &httpError{
			status: http.StatusRequestEntityTooLarge,
			msg: fmt.Sprintf("the body has %s, at most %s are read, and request.uid is not in its first %d bytes",
				mebibytes(r.ContentLength), mebibytes(maxReviewBytes), uidBytes),
		}
	}
	return uid, nil
}

// bodyError says that a body ended too early. It closes the connection, since the rest of the body may still arrive.
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
