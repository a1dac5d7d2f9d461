package policystore

import (
	"context"
	"log/slog"
	"time"

	"github.com/evergate/evergate/policy"
)

const (
	// maxExpiryLines is how many lines are logged at one moment: teams let exceptions end with the year, all at once.
	maxExpiryLines = 20
	// maxExpiryWait is how long a timer runs at most: it does not follow the clock when that is set, or when the machine
	// was suspended.
	maxExpiryWait = time.Hour
)

// expiryLog logs what of the policy in force ends, when it ends.
type expiryLog struct {
	log *slog.Logger
	// loaded has what ends of the policy that was loaded last, until run has received it.
	loaded chan []policy.Expiry
}

func newExpiryLog(log *slog.Logger) *expiryLog {
	return &expiryLog{log: log, loaded: make(chan []policy.Expiry, 1)}
}

// load follows another policy from now on. One goroutine calls it at a time.
func (l *expiryLog) load(p *policy.Policy) {
	select {
	case <-l.loaded: // of a policy before, which run has not seen
	default:
	}
	l.loaded <- p.Expiries()
}

// run logs until ctx ends.
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

// replace logs those of the old policy that have ended at now, and returns those of the new one that have not.
func (l *expiryLog) replace(old, all []policy.Expiry, now time.Time) []policy.Expiry {
	l.logEnded(old, now)
	return all[countEnded(all, now):]
}

// logEnded logs those that have ended at now, and returns the others.
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
		l.log.Warn("policy: and more ended: evergate policy check names them", "more", more)
	}
	return pending[n:]
}

// countEnded returns how many have ended at now, of those that are sorted by their ends.
func countEnded(all []policy.Expiry, now time.Time) int {
	n := 0
	for n < len(all) && all[n].HasEnded(now) {
		n++
	}
	return n
}
