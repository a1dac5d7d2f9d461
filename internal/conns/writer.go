package conns

import (
	"io"
	"net/http"
)

// Writer is the http.ResponseWriter of one request. When the response begins, it sets Connection: close if the response
// is the last one on its connection.
type Writer struct {
	http.ResponseWriter
	Request *http.Request
	// Last reports whether the response is the last one. It is called once, when the response begins and not when the
	// request arrives. A response that was under way when the process received its signal is then also the last one.
	Last   func() bool
	status int // 0 until the response has begun
}

// End begins the response if the handler has not written anything, and returns the status of the response.
func (w *Writer) End() (status int) {
	w.begin(http.StatusOK)
	return w.status
}

// maxUnread is the maximum number of bytes that begin reads. Like net/http, the server reads an unread body before it
// responds, because a client may not read before it has sent everything.
const maxUnread = 256 << 10

// begin must be called before any part of the response is written. It reads the rest of the body. net/http would do it
// a moment later, but its reads would not count as progress of the connection.
func (w *Writer) begin(status int) {
	if w.status != 0 || status < http.StatusOK { // 1xx only announces a response
		return
	}
	w.status = status
	// Otherwise, net/http closes the connection.
	if r := w.Request; r.ContentLength <= maxUnread && r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, maxUnread) // net/http gets the same error again
	}
	if w.Last() {
		w.Header().Set("Connection", "close")
	}
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
