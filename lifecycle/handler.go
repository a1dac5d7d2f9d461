package lifecycle

import (
	"fmt"
	"net/http"

	"github.com/evergate/evergate/internal/conns"
)

// wrap returns the handler of the serving port. It runs before all other handlers except the handlers of package conns.
//
// Before the process is ready, it answers reviews with 503, Retry-After and Connection: close. kube-apiserver's client
// then retries the call within its deadline on a new connection, which reaches another replica.
//
// Every answer of a process that is not ready has the header Connection: close, and so does the next answer on a
// connection that has reached its age.
func (p *Process) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		conn := conns.Of(r.Context())
		w := &conns.Writer{ResponseWriter: rw, Request: r, Last: func() bool { return p.shouldClose(conn) }}
		exempt := p.Exempt != nil && p.Exempt(r)
		if now := p.phase(); now < ready && !exempt {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			http.Error(w, fmt.Sprintf("not ready: %s", now), http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
		if status := w.End(); !exempt && status/100 == 2 {
			p.answered.Add(1)
		}
	})
}
