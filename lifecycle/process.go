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

// Defaults of the durations and bounds that are flags. A Process takes its fields as they are: zero is zero.
const (
	// DefaultDrainDelay covers the propagation of an endpoint's removal to every node's kube-proxy, which takes seconds
	// in a large cluster.
	DefaultDrainDelay = 10 * time.Second

	// DefaultDrainTimeout bounds how long a roll-out waits for one replica. kube-apiserver keeps an idle connection for
	// 90 s, so that a quiet cluster reaches this bound; with 95 s the client closes even those.
	DefaultDrainTimeout = 30 * time.Second

	// DefaultShutdownTimeout is above the 6 s for which a fresh connection without a request holds up Shutdown, and
	// above the timeoutSeconds of any webhook that ought to be in use.
	DefaultShutdownTimeout = 15 * time.Second

	// DefaultMaxConnectionAge spreads clients over the replicas of a scale-up within minutes, for one more handshake
	// per connection in that time.
	DefaultMaxConnectionAge = 5 * time.Minute

	// DefaultMaxConnections is above the number of connections that the API servers of most clusters keep, and its
	// memory fits into the limit of the manifests. Each API server keeps up to 25 idle connections for each of 14 paths,
	// so three API servers keep up to 1,050, even if only one replica is left. The other 230 are for reviews in progress.
	// A test of cmd compares the number with the table of webhooks.
	//
	// Five API servers could keep 1,750, which the limit of 512 MiB does not have room for. All attacks together took
	// 402 MiB with 1,024 connections. At 285 KiB each, 1,280 connections bring that to 473 MiB, and 1,750 to 604 MiB.
	//
	// A TLS connection costs 50 KiB of resident memory, idle or not: 16 KiB of them are stack, which the handshake has
	// grown, and a third is garbage. It costs 125 KiB with a header that has come to its limit and does not end, or
	// with the costliest certificates that a client may present. The kernel holds up to 160 KiB more of what was sent
	// and is not read.
	DefaultMaxConnections = 1280
)

// Process is one life of the server. Fill in its fields, hand Ready and Live to the handlers, and call Run, once.
type Process struct {
	// Open waits for what reviews need (policy, certificate) and binds the socket that they come in on. Its context is
	// done when a signal comes to stop. An error ends Run with exit code 1, or its own if it is an ExitError.
	Open func(context.Context) (net.Listener, error)

	// TLS is how the socket is secured. Its NextProtos are reduced to http/1.1. Nil serves plain HTTP, for tests.
	TLS *tls.Config

	// Handler answers reviews, and health probes that come in on the same socket.
	Handler http.Handler

	// Exempt says which requests Handler answers even before the process is ready: health probes, and the reviews of
	// the self-probe. All others get 503 until then. Nil exempts none.
	Exempt func(*http.Request) bool

	// Probe makes a review of its own through the socket. It returns nil for a right answer, an error whose Timeout
	// method returns true if no answer came before its context was done, and any other error for a wrong answer. Each
	// call dials anew and closes its connection: one that it kept would hold up the drain.
	Probe func(context.Context) error

	// OpsListener and OpsHandler serve the ops port (health, metrics) from starting to the end.
	OpsListener net.Listener
	OpsHandler  http.Handler

	// OnStop is called in order when all requests are answered, to flush telemetry. Its errors are logged.
	OnStop []func(context.Context) error

	DrainDelay      time.Duration // the least that a drain lasts
	DrainTimeout    time.Duration // the most; no less than DrainDelay
	ShutdownTimeout time.Duration // after the drain, for reviews under way
	KeepReady       bool          // while draining, readiness stays as it was instead of falling at once

	MaxConnectionAge time.Duration // after it, ±10 %, a connection's next answer retires it; 0: never
	MaxConnections   int           // open on the serving port at one time; 0: no bound

	Log      *slog.Logger // nil discards
	Observer Observer     // nil for none

	current  atomic.Int32 // the phase
	since    time.Time    // when it was entered; of the goroutine of live
	conns    conns.Set    // of the serving port
	answered atomic.Int64 // reviews answered with 2xx
	watchdog watchdog
}

// Observer is called for what metrics are made of. Its methods are called from several goroutines and must not block.
type Observer interface {
	// PhaseChanged is called when the phase from is over, with how long it lasted and how many connections were open.
	PhaseChanged(from, to string, lasted time.Duration, open int)

	// SelfProbed is called for each self-probe: its result is ok, busy, wrong or hung.
	SelfProbed(result string, took time.Duration)

	// ConnectionEvicted is called when a connection was closed because MaxConnections were open.
	ConnectionEvicted()
}

type nopObserver struct{}

func (nopObserver) PhaseChanged(string, string, time.Duration, int) {}
func (nopObserver) SelfProbed(string, time.Duration)                {}
func (nopObserver) ConnectionEvicted()                              {}

// Ready returns nil if the process accepts reviews, else an error that says why not. It is what /readyz answers.
func (p *Process) Ready() error {
	switch now := p.phase(); {
	case now == ready, now == draining && p.KeepReady:
		return p.watchdog.ready()
	default:
		return fmt.Errorf("not ready: %s", now)
	}
}

// Live returns an error if the process hangs and must be restarted. It is what /livez answers. Only self-probes that
// are not answered, several in a row, make it fail, and only while ready: a restart would not fix a wrong answer, a bad
// certificate or load. Live does not see a stuck review while others are answered: the Handler detects it.
func (p *Process) Live() error {
	if p.phase() != ready {
		return nil
	}
	return p.watchdog.live()
}
