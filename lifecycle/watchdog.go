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

	// probeTimeout is kube-apiserver's default timeoutSeconds: what takes longer is of use to nobody. It is a
	// second more than a review may then wait before it is turned away, so that load shows as ErrBusy.
	probeTimeout = 10 * time.Second

	// probeThreshold is how many self-probes in a row must fail: one may meet a long pause of a starved node.
	probeThreshold = 3

	// firstProbeInterval is between self-probes that have never succeeded. Somebody waits for this replica.
	firstProbeInterval = time.Second
)

// verdict is what a self-probe showed.
type verdict string

const (
	healthy verdict = "ok"
	busy    verdict = "busy"  // turned away for load, or not answered in time while other reviews were
	wrong   verdict = "wrong" // answered wrongly, or not reached: certificate, connection, uid, shape
	hung    verdict = "hung"  // not answered in time, and neither was anything else
)

// judge says what a self-probe showed that ended in err. answered says that reviews of others were answered meanwhile,
// which a hung process does not do.
func judge(err error, answered bool) verdict {
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil:
		return healthy
	case errors.Is(err, ErrBusy):
		return busy
	case !errors.As(err, &timeout) || !timeout.Timeout():
		return wrong
	case answered:
		return busy
	default:
		return hung
	}
}

// watchdog counts what self-probes showed.
type watchdog struct {
	mu     sync.Mutex
	hung   int   // in a row
	failed int   // hung or wrong, in a row
	err    error // of the last one that failed
}

// note counts a self-probe and returns how many have failed in a row.
func (w *watchdog) note(v verdict, err error) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch v {
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

// probe makes one self-probe. The Probe runs beside its deadline, so that one that ignores it is a hang like any other.
func (p *Process) probe(ctx context.Context) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	start, answered := time.Now(), p.answered.Load()
	result := make(chan error, 1)
	go func() { result <- p.Probe(ctx) }()
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		err = ctx.Err()
	}
	v := judge(err, p.answered.Load() > answered)
	if !errors.Is(ctx.Err(), context.Canceled) { // told to stop: it showed nothing
		p.Observer.SelfProbed(string(v), time.Since(start))
	}
	return v, err
}

// becomeReady probes until a self-probe succeeds. It returns false if the process is told to stop before.
func (p *Process) becomeReady(asked context.Context) bool {
	told := ""
	for {
		v, err := p.probe(asked)
		switch {
		case asked.Err() != nil:
			return false
		case v == healthy:
			return true
		case err.Error() != told: // a certificate that is not trusted yet says the same once a second
			told = err.Error()
			p.Log.Warn("not ready yet: the self-probe failed", slog.String("verdict", string(v)), slog.Any("error", err))
		}
		if !sleep(asked, firstProbeInterval) {
			return false
		}
	}
}

// watch repeats the self-probe until the process is told to stop.
func (p *Process) watch(asked context.Context) {
	for before := healthy; sleep(asked, probeInterval); {
		v, err := p.probe(asked)
		if asked.Err() != nil {
			return
		}
		inARow := p.watchdog.note(v, err)
		switch {
		case v != healthy:
			p.Log.Warn("the self-probe failed", slog.String("verdict", string(v)),
				slog.Int("failed_in_a_row", inARow), slog.Any("error", err))
		case before != healthy:
			p.Log.Info("the self-probe succeeded again")
		}
		before = v
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
