package conns

import (
	"io"
	"net/http"
	"time"
)

// Attach makes a server report its connections and the arrival of its requests to the set. From the end of its header,
// each request has bodyTimeout for its body, whether a handler reads the body or net/http discards it. Handlers may set
// an earlier deadline. The server's ReadTimeout is not suitable, because net/http starts it on accept. On a connection
// that was dialed in advance, the body of the first request would time out before it is sent.
func (cs *Set) Attach(s *http.Server, bodyTimeout time.Duration) {
	next := s.Handler
	s.ConnContext, s.ConnState = cs.accept, cs.changed
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := Of(r.Context())
		if r.Body == http.NoBody {
			cs.arrived(c)
			next.ServeHTTP(w, r)
			return
		}
		// An error means that the connection is closed, and the first read will report that again.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		received := *r // net/http uses its own body after the response
		received.Body = &body{r.Body, cs, c}
		next.ServeHTTP(w, &received)
	})
}

// body is the body of a request. It reports each read that reaches its end, which may be more than one.
type body struct {
	io.ReadCloser
	set  *Set
	conn *Conn
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.conn.wire.progress()
	}
	if err == io.EOF {
		b.set.arrived(b.conn)
	}
	return n, err
}
