package lifecycle

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/evergate/evergate/internal/conns"
)

// Default values of the flags for durations and limits. A Process does not apply them: in its fields, zero means zero.
const (
	// DefaultDrainDelay covers the time until every node's kube-proxy has removed the endpoint. In a large cluster,
	// this takes seconds.
	DefaultDrainDelay = 10 * time.Second

	// DefaultDrainTimeout limits how long a rollout waits for one replica. kube-apiserver keeps an idle connection for
	// 90 s, so in a quiet cluster a drain takes this long. With 95 s, the client would close even its idle connections.
	DefaultDrainTimeout = 30 * time.Second

	// DefaultShutdownTimeout is longer than the 6 s for which a new connection without a request delays Shutdown, and
	// longer than the timeoutSeconds of any reasonable webhook.
	DefaultShutdownTimeout = 15 * time.Second

	// DefaultMaxConnectionAge spreads clients over new replicas within minutes of a scale-up. It costs each connection
	// one more handshake in that time.
	DefaultMaxConnectionAge = 5 * time.Minute

	// DefaultMaxConnections is above the number of connections that the API servers of most clusters keep, and its
	// memory fits into the limit of the manifests. Each API server keeps up to 25 idle connections for each of 14 paths,
	// so three API servers keep up to 1,050, even if only one replica is left. The other 230 are for reviews in progress.
	// A test of cmd compares the number with the table of webhooks.
	//
	// Five API servers could keep 1,750, for which the limit of 512 MiB does not have room. All attacks together took
	// 402 MiB with 1,024 connections. At 285 KiB each, 1,280 connections bring that to 473 MiB, and 1,750 to 604 MiB.
	//
	// A TLS connection takes 50 KiB of resident memory, idle or not. Of these, 16 KiB are the stack, which grew during
	// the handshake, and a third is garbage. It takes 125 KiB if its header reaches the limit without ending, or if the
	// client presents the costliest certificates that are allowed. The kernel buffers up to 160 KiB more of unread
	// data.
	DefaultMaxConnections = 1280
)

// Process is one run of the server. Set its fields, pass Ready and Live to the handlers, and call Run once.
type Process struct {
	// Open loads everything that reviews need (policy, certificate) and binds the serving socket. Its context is done
	// when a signal to stop arrives. If Open fails, Run returns its error with exit code 1, or with the code of the
	// ExitError that Open returned.
	Open func(context.Context) (net.Listener, error)

	// TLS is the TLS configuration of the socket. Its NextProtos are reduced to http/1.1. If it is nil, the socket
	// serves plain HTTP, which is for tests.
	TLS *tls.Config

	// Handler handles reviews, and the health probes that arrive on the same socket.
	Handler http.Handler

	// Exempt reports whether Handler serves a request even before the process is ready: health probes, and the reviews
	// of the self-probe. All other requests get 503 until then. If it is nil, no request is exempt.
	Exempt func(*http.Request) bool

	// Probe sends a review through the socket. It returns nil if the response is right, an error whose Timeout method
	// returns true if there was no response before its context was done, and any other error if the response is wrong.
	// Each call opens a new connection and closes it, because a connection that stays open would delay the drain.
	Probe func(context.Context) error

	// OpsListener and OpsHandler serve the ops port (health, metrics) from starting until the end.
	OpsListener net.Listener
	OpsHandler  http.Handler

	// OnStop functions are called in order after all requests are answered, to flush telemetry. Their errors are
	// logged.
	OnStop []func(context.Context) error

	DrainDelay      time.Duration // the shortest duration of a drain
	DrainTimeout    time.Duration // the longest duration of a drain; at least DrainDelay
	ShutdownTimeout time.Duration // after the drain, for reviews under way
	KeepReady       bool          // while draining, readiness stays true instead of becoming false immediately

	MaxConnectionAge time.Duration // after this age, ±10 %, the next response closes the connection; 0: never
	MaxConnections   int           // open on the serving port at one time; 0: no limit

	Log      *slog.Logger // nil discards
	Observer Observer     // nil for none

	current  atomic.Int32 // the phase
	since    time.Time    // when the phase began; used only by the goroutine of live
	conns    conns.Set    // of the serving port
	answered atomic.Int64 // reviews answered with 2xx
	watchdog watchdog
}

// Observer receives the events that metrics count. Several goroutines call its methods, which must not block.
type Observer interface {
	// PhaseChanged is called when the phase from ends, with its duration and the number of open connections.
	PhaseChanged(from, to string, lasted time.Duration, open int)

	// SelfProbed is called after each self-probe. The result is ok, busy, wrong or hung.
	SelfProbed(result string, took time.Duration)

	// ConnectionEvicted is called when a connection is closed because MaxConnections are open.
	ConnectionEvicted()
}

type nopObserver struct{}

func (nopObserver) PhaseChanged(string, string, time.Duration, int) {}
func (nopObserver) SelfProbed(string, time.Duration)                {}
func (nopObserver) ConnectionEvicted()                              {}

// Ready returns nil if the process accepts reviews, and otherwise an error with the reason. /readyz reports it.
func (p *Process) Ready() error {
	switch now := p.phase(); {
	case now == ready, now == draining && p.KeepReady:
		return p.watchdog.ready()
	default:
		return fmt.Errorf("not ready: %s", now)
	}
}

// Live returns an error if the process hangs and must be restarted. /livez reports it. Live fails only while the
// process is ready and several self-probes in a row get no response. A restart would not fix a wrong response, a bad
// certificate or high load. Live does not detect a stuck review while other reviews are answered, because the Handler
// detects it.
func (p *Process) Live() error {
	if p.phase() != ready {
		return nil
	}
	return p.watchdog.live()
}
