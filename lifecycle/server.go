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
	// after 90 s (client-go transport/cache.go, net/http DefaultTransport). The client must always close it first, with
	// a large margin. If the server closes it, a review that is just being written is lost, and the client does not
	// retry a POST.
	//
	// It is also the read-header timeout, because net/http starts that timeout when it accepts a connection and not at
	// the first byte of the first request. Clients dial in advance, and a connection that they did not need after all
	// stays idle in their pool. The price is that slow headers may take this long. Package conns limits their cost.
	idleTimeout = 3 * time.Minute

	// bodyTimeout is how long a request's body may take after its header has arrived. It is more than 30 s, the maximum
	// of a webhook's timeoutSeconds. The handlers apply the ?timeout= of each review.
	bodyTimeout = 35 * time.Second

	// writeTimeout is the time from the end of the header to the end of the response: bodyTimeout, and 5 s to send the
	// response. It also limits the TLS handshake, because it is the shortest timeout of the server.
	writeTimeout = bodyTimeout + 5*time.Second

	// maxHeaderBytes limits the headers of a request. kube-apiserver sends less than 1 KiB. W3C trace context and
	// baggage may add 8.5 KiB.
	maxHeaderBytes = 16 << 10
)

// newServer returns a server with the limits above. It registers its connections in set, which limits them. The server
// supports only HTTP/1.1: kube-apiserver does not offer HTTP/2 to a Service, and with HTTP/2 all calls would share one
// connection and fail together.
func newServer(h http.Handler, set *conns.Set, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: idleTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         new(http.Protocols),
		ErrorLog:          newErrorLog(log),

		// net/http would respond to "OPTIONS *" without calling Handler, and therefore without Connection: close.
		DisableGeneralOptionsHandler: true,
	}
	s.Protocols.SetHTTP1(true)
	set.Attach(s, bodyTimeout)
	return s
}

// serve serves a listener until s is shut down. It calls failed if serving ends for another reason.
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

// errorLog is a writer that passes net/http's errors to a logger. Each call to Write is one line.
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
