package handlers

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evergate/evergate/review"
)

// Overdue counts the reviews that do not come back from being decided. There should never be one: deciding is nothing
// but computing, so one that has not ended by now never will, and its room is lost until the process is restarted. The
// canary does not notice, since its reviews have room of their own. The zero value is ready to use.
type Overdue struct {
	n       atomic.Int64
	watches sync.Pool // of *watch
}

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

// watch watches over one review after the other.
type watch struct {
	overdue *Overdue
	timer   *time.Timer
	report  func(body []byte)
	body    []byte // of the review
}

// watch begins to watch over the review in body, and calls report when it becomes overdue. end is to be called when it
// comes back.
func (o *Overdue) watch(body []byte, report func(body []byte)) *watch {
	w, used := o.watches.Get().(*watch)
	if !used {
		w = &watch{overdue: o}
	}
	w.body, w.report = body, report
	if used {
		w.timer.Reset(overdueAfter)
	} else {
		w.timer = time.AfterFunc(overdueAfter, w.due)
	}
	return w
}

func (w *watch) due() {
	w.overdue.n.Add(1)
	w.report(w.body)
}

// end says whether the review came back in time, so that report was not and will not be called.
func (w *watch) end() (inTime bool) {
	if !w.timer.Stop() {
		w.overdue.n.Add(-1) // it did come back
		return false        // its body may still be read
	}
	w.body, w.report = nil, nil
	w.overdue.watches.Put(w)
	return true
}

// reportOverdue logs the review in body, which is overdue, so that the object that no review gets past can be found.
func (e *endpoint) reportOverdue(body []byte) {
	e.log.Error("a review does not come back from being decided",
		slog.String("path", e.path), slog.String("uid", uidOf(body)), slog.Duration("after", overdueAfter))
}

// uidOf returns the uid of a review that could not be decoded to its end; empty when it is not among the first bytes.
func uidOf(body []byte) string {
	uid, _ := review.UID(body[:min(len(body), uidBytes)])
	return uid
}
