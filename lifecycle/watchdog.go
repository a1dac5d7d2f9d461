package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// probeInterval is the kubelet's default period. It is short compared with the minutes that a hang would last, and
	// one handshake in ten seconds costs almost nothing.
	probeInterval = 10 * time.Second

	// probeTimeout is kube-apiserver's default timeoutSeconds. An API server cannot use a response after that.
	probeTimeout = 10 * time.Second

	// probeThreshold is how many self-probes in a row must fail. A single probe may fail because a starved node pauses.
	probeThreshold = 3

	// firstProbeInterval is the time between self-probes until one succeeds. It is short because a rollout waits for
	// this replica.
	firstProbeInterval = time.Second
)

// probeResult is the result of a self-probe.
type probeResult string

const (
	healthy probeResult = "ok"
	busy    probeResult = "busy"  // no response in time, but clients' reviews were answered
	wrong   probeResult = "wrong" // a wrong response, or no connection: certificate, connection, uid, format
	hung    probeResult = "hung"  // no response in time, and no other review was answered either
)

// resultOf returns the result of a self-probe that ended with err. answered reports whether clients' reviews were
// answered during the probe. If they were, the process does not hang.
func resultOf(err error, answered bool) probeResult {
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil:
		return healthy
	case !errors.As(err, &timeout) || !timeout.Timeout():
		return wrong
	case answered:
		return busy
	default:
		return hung
	}
}

// watchdog counts the results of self-probes.
type watchdog struct {
	mu     sync.Mutex
	hung   int   // in a row
	failed int   // hung or wrong, in a row
	err    error // of the last probe that failed
}

// note records a self-probe and returns how many have failed in a row.
func (w *watchdog) note(r probeResult, err error) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r {
	case hung:
		w.hung, w.failed, w.err = w.hung+1, w.failed+1, err
	case wrong:
		w.hung, w.failed, w.err = 0, w.failed+1, err
	default:
		w.hung, w.failed, w.err = 0, 0, nil
	}
	return w.failed
}

func (w *watchdog) ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed < probeThreshold {
		return nil
	}
	return fmt.Errorf("not ready: the self-probe failed %d times in a row: %w", w.failed, w.err)
}

func (w *watchdog) live() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hung < probeThreshold {
		return nil
	}
	return fmt.Errorf("hung: the self-probe got no response %d times in a row, and no review was answered", w.hung)
}

// probe makes one self-probe. Probe runs in a separate goroutine. A call that ignores its deadline therefore counts as
// hung.
func (p *Process) probe(ctx context.Context) (probeResult, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	start, answered := time.Now(), p.answered.Load()
	done := make(chan error, 1)
	go func() { done <- p.Probe(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	result := resultOf(err, p.answered.Load() > answered)
	if !errors.Is(ctx.Err(), context.Canceled) { // a probe that a signal stopped has no result
		p.Observer.SelfProbed(string(result), time.Since(start))
	}
	return result, err
}

// becomeReady repeats the self-probe until it succeeds. It returns false if the signal to stop arrives first.
func (p *Process) becomeReady(drainCtx context.Context) bool {
	logged := ""
	for {
		result, err := p.probe(drainCtx)
		switch {
		case drainCtx.Err() != nil:
			return false
		case result == healthy:
			return true
		case err.Error() != logged: // a certificate that is not trusted yet causes the same error every second
			logged = err.Error()
			p.Log.Warn("not ready yet: the self-probe failed", slog.String("result", string(result)), slog.Any("error", err))
		}
		if !sleep(drainCtx, firstProbeInterval) {
			return false
		}
	}
}

// watch repeats the self-probe until the signal to stop.
func (p *Process) watch(drainCtx context.Context) {
	for before := healthy; sleep(drainCtx, probeInterval); {
		result, err := p.probe(drainCtx)
		if drainCtx.Err() != nil {
			return
		}
		inARow := p.watchdog.note(result, err)
		switch {
		case result != healthy:
			p.Log.Warn("the self-probe failed", slog.String("result", string(result)),
				slog.Int("failed_in_a_row", inARow), slog.Any("error", err))
		case before != healthy:
			p.Log.Info("the self-probe succeeded again")
		}
		before = result
	}
}

// sleep waits for d. If ctx ends first, sleep returns false immediately.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
