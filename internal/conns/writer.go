package conns

import (
	"io"
	"net/http"
)

// Writer is the http.ResponseWriter of one request. When the response begins, it sets Connection: close if the response
// is the last one on its connection.
type Writer struct {
	http.ResponseWriter
	request *http.Request
	last    func() bool
	status  int // 0 until the response has begun
}

// NewWriter returns a Writer for the response to r. It calls last once, when the response begins and not when the
// request arrives. A response that was under way when the process received its signal is then also the last one.
func NewWriter(w http.ResponseWriter, r *http.Request, last func() bool) *Writer {
	return &Writer{ResponseWriter: w, request: r, last: last}
}

// End begins the response if the handler has not written anything, and returns the status of the response.
func (w *Writer) End() (status int) {
	w.begin(http.StatusOK)
	return w.status
}

// begin must be called before any part of the response is written.
func (w *Writer) begin(status int) {
	if w.status != 0 || status < http.StatusOK { // 1xx only announces a response
		return
	}
	w.status = status
	discard(w.request)
	if w.last() {
		w.Header().Set("Connection", "close")
	}
}

// maxUnread is the maximum number of bytes that discard reads. Like net/http, the server reads an unread body before it
// responds, because a client may not read before it has sent everything.
const maxUnread = 256 << 10

// discard reads the rest of a body. net/http would do it a moment later, but its reads would not count as progress of
// the connection.
func discard(r *http.Request) {
	if r.ContentLength > maxUnread || r.Header.Get("Expect") != "" { // net/http closes the connection
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxUnread) // net/http gets the same error again
}

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *Writer) Write(b []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// FlushError begins the response like Write. http.ResponseController calls it before it calls Unwrap.
func (w *Writer) FlushError() error {
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
