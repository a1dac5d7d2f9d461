package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"
)

// stopTimeout is for what comes after the last review: closing the ops port, flushing telemetry. An exporter that is
// reached at all takes far less, and the node waits.
const stopTimeout = 5 * time.Second

// opsStopTimeout is the part of stopTimeout in which who still reads metrics may finish. A scrape takes some
// milliseconds; a connection without a request would hold up Shutdown for 5 s, and nothing would be left for telemetry.
const opsStopTimeout = time.Second

// Run lives through all phases and returns when the process should exit: nil after a drain in which every caller was
// answered, else an *ExitError.
//
// The first signal, the end of ctx, or a server that fails, begins the drain. A second signal makes Run return at once,
// whatever is under way.
func (p *Process) Run(ctx context.Context, signals <-chan os.Signal) error {
	asked, ask := context.WithCancelCause(ctx) // done: stop, but answer everybody
	defer ask(nil)
	forced, force := context.WithCancelCause(context.WithoutCancel(ctx)) // done: exit
	defer force(nil)
	p.prepare()
	go func() {
		for _, act := range []func(os.Signal){
			func(s os.Signal) { ask(fmt.Errorf("signal: %s", s)) },
			func(s os.Signal) { force(fmt.Errorf("forced to exit while %s by a second signal: %s", p.phase(), s)) },
		} {
			select {
			case s := <-signals:
				act(s)
			case <-forced.Done(): // Run has returned
				return
			}
		}
	}()
	result := make(chan error, 1)
	go func() { result <- p.live(asked, forced, ask) }()
	select {
	case err := <-result:
		return err
	case <-forced.Done():
		return exitError(ExitForced, context.Cause(forced))
	}
}

// prepare fills in what the fields leave open.
func (p *Process) prepare() {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Observer == nil {
		p.Observer = noObserver{}
	}
	p.conns.maxAge, p.conns.max, p.conns.shed = p.MaxConnectionAge, p.MaxConnections, p.Observer.ConnectionShed
	p.since = time.Now()
}

// live goes through the phases. It unwinds without waiting for anybody when forced is done.
func (p *Process) live(asked, forced context.Context, ask context.CancelCauseFunc) error {
	ops := newOpsServer(p.OpsHandler, p.Exempt, p.Log)
	if p.OpsListener != nil {
		go serve(ops, opsListener{p.OpsListener}, ask)
	}
	err := p.serveReviews(asked, forced, ask)
	p.finish(forced, ops)
	p.enter(stopped)
	return err
}

// serveReviews serves the reviews of a whole life, from starting to the end of stopping.
func (p *Process) serveReviews(asked, forced context.Context, ask context.CancelCauseFunc) error {
	listener, err := p.Open(asked)
	switch {
	case err != nil && asked.Err() == nil:
		return exitError(ExitFailed, fmt.Errorf("start: %w", err))
	case err != nil: // told to stop while loading
		return failure(asked)
	}
	server := newServer(p.wrap(p.Handler), &p.conns, p.Log)
	if p.TLS != nil {
		server.TLSConfig = onWires(p.TLS)
	}
	go serve(server, listener, ask)
	p.enter(listening, slog.String("address", listener.Addr().String()))

	if p.becomeReady(asked) {
		p.enter(ready)
		p.watch(asked)
		p.enter(draining, slog.Any("why", context.Cause(asked)), slog.String("at_most", p.drainTimeout().String()))
		p.drain(forced)
	}
	p.enter(stopping)
	err = p.shutdown(forced, server)
	if failed := failure(asked); failed != nil {
		return failed // it came first
	}
	return err
}

// failure returns the error that a process was told to stop by; nil if it was a signal.
func failure(asked context.Context) error {
	if e, ok := errors.AsType[*ExitError](context.Cause(asked)); ok {
		return e
	}
	return nil
}

func (p *Process) drainTimeout() time.Duration { return max(p.DrainTimeout, p.DrainDelay) }

// drain returns when callers have been given the time to go, and have gone or used up theirs.
func (p *Process) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.drainTimeout())
	defer cancel()
	if sleep(ctx, p.DrainDelay) {
		p.conns.waitNone(ctx)
	}
}

// shutdown closes the listener, waits for what is being answered, and cuts what is not in time.
func (p *Process) shutdown(ctx context.Context, s *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, p.ShutdownTimeout)
	defer cancel()
	switch err := s.Shutdown(ctx); {
	case err == nil:
		p.conns.waitNone(ctx) // those that Shutdown closed are gone in a moment, not at once
		return nil
	case !errors.Is(err, ctx.Err()): // all is answered, only closing the listener failed
		p.Log.Warn("the listener was not closed cleanly", slog.Any("error", err))
		return nil
	}
	open := p.conns.count()
	_ = s.Close() // its error is that of the listener, which Shutdown has closed
	return exitError(ExitCutOff, fmt.Errorf("shutdown: connections cut off after %s: %d", p.ShutdownTimeout, open))
}

// finish closes the ops port, after the last review so that the end can be scraped, and calls the OnStop hooks.
func (p *Process) finish(ctx context.Context, ops *http.Server) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	scraped, cancelScrape := context.WithTimeout(ctx, opsStopTimeout)
	defer cancelScrape()
	if ops.Shutdown(scraped) != nil {
		_ = ops.Close() // whoever still reads metrics is no caller
	}
	for _, stop := range p.OnStop {
		if err := stop(ctx); err != nil {
			p.Log.Warn("stopping", slog.Any("error", err))
		}
	}
}
