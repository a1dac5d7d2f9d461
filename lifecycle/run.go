package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/evergate/evergate/internal/conns"
)

// stopTimeout limits the steps after the last review: closing the ops port and flushing telemetry. An exporter that can
// be reached needs far less, and the node waits for the process to exit.
const stopTimeout = 5 * time.Second

// opsStopTimeout is the part of stopTimeout in which a client that reads metrics may finish. A scrape takes a few
// milliseconds. Without this limit, a connection without a request would delay Shutdown for 5 s, and no time would
// remain for telemetry.
const opsStopTimeout = time.Second

// Run goes through all phases and returns when the process should exit. It returns nil after a drain in which every
// client was answered, and otherwise an *ExitError.
//
// The drain begins with the first signal, the end of ctx, or the failure of a server. A second signal makes Run return
// immediately, whatever is still running.
func (p *Process) Run(ctx context.Context, signals <-chan os.Signal) error {
	drainCtx, drain := context.WithCancelCause(ctx) // done: stop, but answer every client
	defer drain(nil)
	killCtx, kill := context.WithCancelCause(context.WithoutCancel(ctx)) // done: exit
	defer kill(nil)
	p.prepare()
	go func() {
		for _, act := range []func(os.Signal){
			func(s os.Signal) { drain(fmt.Errorf("signal: %s", s)) },
			func(s os.Signal) { kill(fmt.Errorf("forced to exit while %s by a second signal: %s", p.phase(), s)) },
		} {
			select {
			case s := <-signals:
				act(s)
			case <-killCtx.Done(): // Run has returned
				return
			}
		}
	}()
	result := make(chan error, 1)
	go func() { result <- p.live(drainCtx, killCtx, drain) }()
	select {
	case err := <-result:
		return err
	case <-killCtx.Done():
		return exitError(exitForced, context.Cause(killCtx))
	}
}

// prepare sets default values in fields that are not set.
func (p *Process) prepare() {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Observer == nil {
		p.Observer = nopObserver{}
	}
	p.conns.MaxAge, p.conns.Max, p.conns.Evicted = p.MaxConnectionAge, p.MaxConnections, p.Observer.ConnectionEvicted
	p.since = time.Now()
}

// live goes through the phases. When killCtx is done, it returns without waiting for anything.
func (p *Process) live(drainCtx, killCtx context.Context, drain context.CancelCauseFunc) error {
	ops := newOpsServer(p.OpsHandler, p.Exempt, p.Log)
	if p.OpsListener != nil {
		go serve(ops, conns.Buffered(p.OpsListener, maxOpsHeaderBytes), drain)
	}
	err := p.serveReviews(drainCtx, killCtx, drain)
	p.finish(killCtx, ops)
	p.enter(stopped)
	return err
}

// serveReviews serves reviews from starting until the end of stopping.
func (p *Process) serveReviews(drainCtx, killCtx context.Context, drain context.CancelCauseFunc) error {
	listener, err := p.Open(drainCtx)
	switch {
	case err != nil && drainCtx.Err() == nil:
		return exitError(ExitFailed, fmt.Errorf("start: %w", err))
	case err != nil: // stopped while loading
		return failure(drainCtx)
	}
	server := newServer(p.wrap(p.Handler), &p.conns, p.Log)
	if p.TLS != nil {
		server.TLSConfig = conns.TLSConfig(p.TLS)
	}
	go serve(server, listener, drain)
	p.enter(listening, slog.String("address", listener.Addr().String()))

	if p.becomeReady(drainCtx) {
		p.enter(ready)
		p.watch(drainCtx)
		p.enter(draining, slog.Any("why", context.Cause(drainCtx)), slog.String("at_most", p.drainTimeout().String()))
		p.drain(killCtx)
	}
	p.enter(stopping)
	err = p.shutdown(killCtx, server)
	if failed := failure(drainCtx); failed != nil {
		return failed // it happened first
	}
	return err
}

// failure returns the error that made the process stop, or nil if a signal did.
func failure(drainCtx context.Context) error {
	if e, ok := errors.AsType[*ExitError](context.Cause(drainCtx)); ok {
		return e
	}
	return nil
}

func (p *Process) drainTimeout() time.Duration { return max(p.DrainTimeout, p.DrainDelay) }

// drain waits for DrainDelay, and then until no connection is open, but not longer than the drain timeout.
func (p *Process) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.drainTimeout())
	defer cancel()
	if sleep(ctx, p.DrainDelay) {
		p.conns.WaitNone(ctx)
	}
}

// shutdown closes the listener and waits until the requests under way are answered. It closes the connections whose
// requests are not answered in time.
func (p *Process) shutdown(ctx context.Context, s *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, p.ShutdownTimeout)
	defer cancel()
	switch err := s.Shutdown(ctx); {
	case err == nil:
		p.conns.WaitNone(ctx) // net/http reports the connections that Shutdown closed a moment later
		return nil
	case !errors.Is(err, ctx.Err()): // all requests are answered and only closing the listener failed
		p.Log.Warn("the listener was not closed cleanly", slog.Any("error", err))
		return nil
	}
	open := p.conns.Count()
	_ = s.Close() // its error is from the listener, which Shutdown has already closed
	return exitError(exitCutOff, fmt.Errorf("shutdown: connections cut off after %s: %d", p.ShutdownTimeout, open))
}

// finish closes the ops port and calls the OnStop hooks. It runs after the last review, because the ops port serves the
// final metrics until then.
func (p *Process) finish(ctx context.Context, ops *http.Server) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	scraped, cancelScrape := context.WithTimeout(ctx, opsStopTimeout)
	defer cancelScrape()
	if ops.Shutdown(scraped) != nil {
		_ = ops.Close() // a client that still reads metrics does not wait for a review
	}
	for _, stop := range p.OnStop {
		if err := stop(ctx); err != nil {
			p.Log.Warn("a stop hook failed", slog.Any("error", err))
		}
	}
}
