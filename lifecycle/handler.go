package lifecycle

import (
	"fmt"
	"io"
	"net/http"

	"github.com/evergate/evergate/internal/conns"
)

// wrap stands before all handlers of the serving port; around it is only what package conns counts requests with.
//
// Before the process is ready it answers reviews with 503, Retry-After and Connection: close: kube-apiserver's client
// retries such a call, within its deadline, and on a new connection, so that it reaches another replica.
//
// Every answer of a process that is not ready, and the next answer on a connection that has reached its age, says
// Connection: close. That is decided when the answer begins, not when the request arrives, so that the answer to a
// review that was under way when the signal arrived says it too.
func (p *Process) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w, process: p, conn: conns.Of(r.Context()), request: r}
		exempt := p.Exempt != nil && p.Exempt(r)
		if now := p.phase(); now < ready && !exempt {
			a.Header().Set("Retry-After", "1")
			a.Header().Set("Connection", "close")
			http.Error(a, fmt.Sprintf("not ready: %s", now), http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(a, r)
		a.begin(http.StatusOK) // a handler that wrote nothing
		if !exempt && a.status/100 == 2 {
			p.answered.Add(1)
		}
	})
}

// answer is a ResponseWriter that says Connection: close where it is the last one on its connection.
type answer struct {
	http.ResponseWriter
	process *Process
	conn    *conns.Conn
	request *http.Request
	status  int // 0 until it has begun
}

// begin is called before anything of the answer is written.
func (a *answer) begin(status int) {
	if a.status != 0 || status < http.StatusOK { // 1xx announces an answer and is none
		return
	}
	a.status = status
	discard(a.request)
	if a.process.shouldClose(a.conn) {
		a.Header().Set("Connection", "close")
	}
}

// maxUnread bounds how much of a body that no handler has read is read before the answer, as net/http does it: a
// client may read nothing before it has sent all.
const maxUnread = 256 << 10

// discard reads what is left of a body. net/http would do it a moment later, but package conns would not count
// what it reads as progress.
func discard(r *http.Request) {
	if r.ContentLength > maxUnread || r.Header.Get("Expect") != "" { // net/http closes the connection
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxUnread) // net/http meets its error again
}

func (a *answer) WriteHeader(status int) {
	a.begin(status)
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	a.begin(http.StatusOK)
	return a.ResponseWriter.Write(b)
}

// FlushError begins the answer like Write. http.ResponseController asks for it before it looks into Unwrap.
func (a *answer) FlushError() error {
	a.begin(http.StatusOK)
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
