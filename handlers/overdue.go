package handlers

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/evergate/evergate/review"
)

// Overdue counts the reviews that do not come back from being decided. There should never be one: deciding is nothing
// but computing, so one that has not ended by now never will, and its room is lost until the process is restarted. The
// canary does not notice, since its reviews have room of their own. The zero value is ready to use.
type Overdue struct{ n atomic.Int64 }

// overdueAfter is far beyond what load alone can do. Nobody waits for a review that is older than maxTimeout. And the
// bodies that are being decided at one time, 64 MiB unless a flag says more, are a second of work for a core, so a
// container that may use a tenth of one has decided them in good time. What waits for its turn, or for bytes of its
// body, is not yet being decided and not counted.
const overdueAfter = maxTimeout + 15*time.Second

// Err says how many reviews are overdue; nil when there are none. It is a reason to restart the process.
func (o *Overdue) Err() error {
	if n := o.n.Load(); n > 0 {
		return fmt.Errorf("hung: reviews that have been decided for more than %s: %d", overdueAfter, n)
	}
	return nil
}

// watch begins to watch over a review and calls report when it becomes overdue. done is to be called when it comes back,
// and says whether that was in time, so that report is not and will not be called.
func (o *Overdue) watch(report func()) (done func() (inTime bool)) {
	timer := time.AfterFunc(overdueAfter, func() {
		o.n.Add(1)
		report()
	})
	return func() bool {
		inTime := timer.Stop()
		if !inTime {
			o.n.Add(-1) // it did come back
		}
		return inTime
	}
}

// reportOverdue logs the review in body, which is overdue, so that the object that no review gets past can be found.
func (e *endpoint) reportOverdue(body []byte) {
	e.log.Error("a review does not come back from being decided",
		slog.String("path", e.path), slog.String("uid", uidOf(body)), slog.Duration("after", overdueAfter))
}

// uidOf returns the uid of a review that could not be decoded to its end; empty when it is not among the first bytes.
func uidOf(body []byte) string {
	uid, _ := review.UID(body[:min(len(body), firstBytes)])
	return uid
}
