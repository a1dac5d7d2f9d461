package policystore

import (
	"context"
	"log/slog"
	"time"

	"github.com/evergate/evergate/policy"
)

const (
	// maxExpiryLines is how many lines are logged at one time. Many teams let their exceptions end with the year, all
	// at the same moment.
	maxExpiryLines = 20
	// maxExpiryWait is the longest time that a timer runs. A timer does not notice that the clock was set, or that the
	// machine was suspended.
	maxExpiryWait = time.Hour
)

// expiryLog logs exceptions and other dated parts of the active policy when they end.
type expiryLog struct {
	log *slog.Logger
	// loaded contains the expiries of the policy that was loaded last, until run receives them.
	loaded chan []policy.Expiry
}

func newExpiryLog(log *slog.Logger) *expiryLog {
	return &expiryLog{log: log, loaded: make(chan []policy.Expiry, 1)}
}

// load makes l follow p instead of the policy before it. It must be called from one goroutine at a time.
func (l *expiryLog) load(p *policy.Policy) {
	select {
	case <-l.loaded: // from an earlier policy that run has not received
	default:
	}
	l.loaded <- p.Expiries()
}

// run logs expiries until ctx ends.
func (l *expiryLog) run(ctx context.Context) {
	var pending []policy.Expiry
	timer := time.NewTimer(maxExpiryWait)
	defer timer.Stop()
	for {
		if timer.Stop(); len(pending) > 0 {
			timer.Reset(min(time.Until(pending[0].Ends), maxExpiryWait))
		}
		select {
		case <-ctx.Done():
			return
		case all := <-l.loaded:
			pending = l.replace(pending, all, time.Now())
		case <-timer.C:
			pending = l.logEnded(pending, time.Now())
		}
	}
}

// replace logs the expiries in old that have passed at now, and returns the future expiries in all.
func (l *expiryLog) replace(old, all []policy.Expiry, now time.Time) []policy.Expiry {
	l.logEnded(old, now)
	return all[countEnded(all, now):]
}

// logEnded logs the expiries in pending that have passed at now, and returns the others.
func (l *expiryLog) logEnded(pending []policy.Expiry, now time.Time) []policy.Expiry {
	n := countEnded(pending, now)
	for i := range pending[:min(n, maxExpiryLines)] {
		e := &pending[i]
		attrs := []any{"rule", e.Rule, "what", string(e.What), "until", e.Until}
		if e.Reason != "" {
			attrs = append(attrs, "reason", e.Reason)
		}
		l.log.Warn("policy: "+string(e.What)+" ended", attrs...)
	}
	if more := n - maxExpiryLines; more > 0 {
		l.log.Warn("policy: more entries ended: evergate policy check lists them", "more", more)
	}
	return pending[n:]
}

// countEnded returns how many expiries have passed at now. all must be sorted by date.
func countEnded(all []policy.Expiry, now time.Time) int {
	n := 0
	for n < len(all) && all[n].HasEnded(now) {
		n++
	}
	return n
}
