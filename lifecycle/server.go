package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/evergate/evergate/internal/conns"
)

const (
	// idleTimeout is how long a connection may be idle before the server closes it. kube-apiserver's client closes it
	// after 90 s (client-go transport/cache.go, net/http DefaultTransport). The client must be first by far: a server
	// that closes loses the review that is just being written, and the client does not retry a POST.
	//
	// It is the read-header timeout too, because net/http starts that one when a connection is accepted, not at the
	// first byte of its first request, and clients dial ahead: a connection that was not needed after all stays idle in
	// their pool. The price is that slow headers may take this long; package conns bounds what they cost.
	idleTimeout = 3 * time.Minute

	// bodyTimeout is the most that a request's body may take once its header is there: above the 30 s that
	// timeoutSeconds of a webhook may be. The handlers hold each review to its own ?timeout=.
	bodyTimeout = 35 * time.Second

	// writeTimeout is from the end of the header to the end of the answer: bodyTimeout and 5 s to send the answer. The
	// shortest of the server's timeouts, it also bounds the TLS handshake.
	writeTimeout = bodyTimeout + 5*time.Second

	// maxHeaderBytes bounds all headers of a request. kube-apiserver sends less than 1 KiB; W3C trace context and
	// baggage may add 8.5 KiB.
	maxHeaderBytes = 16 << 10
)

// newServer returns a server with the limits above that bounds its connections by set. It speaks HTTP/1.1 only:
// kube-apiserver does not offer HTTP/2 to a Service, where one dead connection would fail all calls.
func newServer(h http.Handler, set *conns.Set, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: idleTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         new(http.Protocols),
		ErrorLog:          newErrorLog(log),

		// net/http would answer "OPTIONS *" without calling Handler, and so without Connection: close.
		DisableGeneralOptionsHandler: true,
	}
	s.Protocols.SetHTTP1(true)
	set.Attach(s, bodyTimeout)
	return s
}

// serve serves a listener until s is shut down, and calls failed if it ends for another reason.
func serve(s *http.Server, l net.Listener, failed context.CancelCauseFunc) {
	var err error
	if s.TLSConfig != nil {
		err = s.ServeTLS(conns.Wired(l), "", "")
	} else {
		err = s.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		failed(exitError(ExitFailed, fmt.Errorf("serve %s: %w", l.Addr(), err)))
	}
}

// newErrorLog returns the logger that net/http writes its errors to.
func newErrorLog(l *slog.Logger) *log.Logger { return log.New(errorLog{l}, "", 0) }

// errorLog is a writer of net/http's errors to a logger, one call a line.
type errorLog struct{ log *slog.Logger }

func (e errorLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	switch {
	case bytes.HasPrefix(line, []byte("http: TLS handshake error")):
		level = slog.LevelDebug // port scanners and probes without TLS: any peer can cause any number of them
	case bytes.HasPrefix(line, []byte("http: panic serving")):
		level = slog.LevelError
	}
	e.log.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
