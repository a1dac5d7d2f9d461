package lifecycle

import (
	"log/slog"
	"time"
)

// phase is a stage in the life of a process. Phases follow each other in this order. A process that was never ready
// skips draining.
type phase int32

const (
	starting  phase = iota // the policy and the certificate are being loaded
	listening              // the socket is bound and served
	ready                  // the self-probe succeeded
	draining               // signal received; still serving, with Connection: close
	stopping               // Shutdown was called
	stopped                // all reviews are answered and telemetry is flushed
)

func (p phase) String() string {
	return [...]string{"starting", "listening", "ready", "draining", "stopping", "stopped"}[p]
}

func (p *Process) phase() phase { return phase(p.current.Load()) }

// enter begins the next phase, logs one line and calls the Observer once. Only the goroutine of Process.live calls it.
func (p *Process) enter(next phase, attrs ...any) {
	now, last := time.Now(), p.phase()
	p.current.Store(int32(next)) // before logging, because readiness must become false first
	lasted, open := now.Sub(p.since), p.conns.Count()
	p.since = now
	p.Log.Info("phase changed", append([]any{
		slog.String("from", last.String()), slog.String("to", next.String()),
		slog.String("lasted", lasted.Round(time.Millisecond).String()), slog.Int("open_connections", open),
	}, attrs...)...)
	p.Observer.PhaseChanged(last.String(), next.String(), lasted, open)
}
