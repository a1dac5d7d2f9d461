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
	// probeInterval is kubelet's own default period: quick beside the minutes that a hang costs, and one handshake in
	// ten seconds is nothing.
	probeInterval = 10 * time.Second

	// probeTimeout is kube-apiserver's default timeoutSeconds: an API server has no use for a later answer.
	probeTimeout = 10 * time.Second

	// probeThreshold is how many self-probes in a row must fail: one may meet a long pause of a starved node.
	probeThreshold = 3

	// firstProbeInterval is between self-probes until one has succeeded: the roll-out waits for this replica.
	firstProbeInterval = time.Second
)

// probeResult is what a self-probe showed.
type probeResult string

const (
	healthy probeResult = "ok"
	busy    probeResult = "busy"  // not answered in time, while reviews of clients were
	wrong   probeResult = "wrong" // answered wrongly, or not reached: certificate, connection, uid, shape
	hung    probeResult = "hung"  // not answered in time, and neither was any review
)

// resultOf returns what a self-probe that ended in err showed. answered: reviews of clients were answered meanwhile, so
// that the process does not hang.
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
	err    error // of the last one that failed
}

// note counts a self-probe and returns how many have failed in a row.
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
	return fmt.Errorf("hung: the self-probe got no answer %d times in a row, nor did any review", w.hung)
}

// probe makes one self-probe. Probe runs in a goroutine of its own, so that one that ignores its deadline counts as
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
	if !errors.Is(ctx.Err(), context.Canceled) { // stopped by a signal: it showed nothing
		p.Observer.SelfProbed(string(result), time.Since(start))
	}
	return result, err
}

// becomeReady probes until a self-probe succeeds. It returns false if the signal to stop comes earlier.
func (p *Process) becomeReady(drainCtx context.Context) bool {
	logged := ""
	for {
		result, err := p.probe(drainCtx)
		switch {
		case drainCtx.Err() != nil:
			return false
		case result == healthy:
			return true
		case err.Error() != logged: // a certificate that is not trusted yet gives the same error once a second
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

// sleep waits for d. It returns false, at once, when ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
