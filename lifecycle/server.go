package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// idleTimeout is for how long a connection may lie unused before it is closed. kube-apiserver's client closes it
	// after 90 s (client-go transport/cache.go, net/http DefaultTransport). It must be the first by far: a server that
	// closes loses the review that is just being written, and the client does not repeat a POST.
	//
	// It is the read-header timeout too, because net/http starts that one when a connection is accepted, not at the
	// first byte of its first request, and clients dial ahead: a connection that lost the race against another that
	// came free lies in their pool unused. The price is that slow headers may take this long; connections bounds what
	// they cost.
	idleTimeout = 3 * time.Minute

	// bodyTimeout is the most that a request's body may take once its header is there: above the 30 s that
	// timeoutSeconds of a webhook may be. The handlers hold each review to its own ?timeout=.
	// It is not the server's ReadTimeout, which net/http starts on accept as well, so that the body of the first
	// request on a connection that was dialled ahead would be late before it is sent.
	bodyTimeout = 35 * time.Second

	// writeTimeout is from the end of the header to the end of the answer: bodyTimeout and a little for the answer
	// to get through. Being the shortest of the server's timeouts it also bounds the TLS handshake.
	writeTimeout = bodyTimeout + 5*time.Second

	// maxHeaderBytes is for all headers of a request. kube-apiserver sends less than 1 KiB; W3C trace context and
	// baggage may add 8.5 KiB.
	maxHeaderBytes = 16 << 10
)

// newServer returns a server with the limits above that tells conns of its connections. It speaks HTTP/1.1 only:
// kube-apiserver does not offer HTTP/2 to a Service, where one dead connection would take all calls with it.
func newServer(h http.Handler, conns *connections, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           receive(h, conns),
		ReadHeaderTimeout: idleTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         new(http.Protocols),
		ConnContext:       conns.accept,
		ConnState:         conns.changed,
		ErrorLog:          newErrorLog(log),

		// net/http would answer "OPTIONS *" without asking Handler, and so without Connection: close.
		DisableGeneralOptionsHandler: true,
	}
	s.Protocols.SetHTTP1(true)
	return s
}

// receive gives each request bodyTimeout for its body, whether a handler reads it or net/http discards it, and tells
// conns when it has arrived. Handlers may set an earlier deadline.
func receive(next http.Handler, conns *connections) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := connectionOf(r.Context())
		if r.Body == http.NoBody {
			conns.arrived(c)
			next.ServeHTTP(w, r)
			return
		}
		// An error says that the connection is gone, which the first read will say again.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		received := *r // net/http has use for its own body after the answer
		received.Body = &body{r.Body, conns, c}
		next.ServeHTTP(w, &received)
	})
}

// body is the body of a request. It tells conns when a read meets its end, which may be more than once.
type body struct {
	io.ReadCloser
	conns *connections
	conn  *connection
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.conn.progress()
	}
	if err == io.EOF {
		b.conns.arrived(b.conn)
	}
	return n, err
}

// serve serves a listener until s is shut down, and calls failed if it ends for another reason.
func serve(s *http.Server, l net.Listener, failed context.CancelCauseFunc) {
	var err error
	if s.TLSConfig != nil {
		err = s.ServeTLS(wires{l}, "", "")
	} else {
		err = s.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		failed(exitError(ExitFailed, fmt.Errorf("serve %s: %w", l.Addr(), err)))
	}
}

// newErrorLog returns what net/http complains to.
func newErrorLog(l *slog.Logger) *log.Logger { return log.New(errorLog{l}, "", 0) }

// errorLog is a writer of net/http's complaints to a logger, one call a line.
type errorLog struct{ log *slog.Logger }

func (e errorLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	switch {
	case bytes.HasPrefix(line, []byte("http: TLS handshake error")):
		level = slog.LevelDebug // port scanners and probes without TLS: anyone can cause any number of them
	case bytes.HasPrefix(line, []byte("http: panic serving")):
		level = slog.LevelError
	}
	e.log.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
