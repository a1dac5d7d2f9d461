package handlers

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/review"
)

// stuckAfter is how long a review may be decided before it counts as stuck, far beyond what load alone can do. No
// client waits for a review that is older than maxTimeout. The bodies that are decided at one time, 64 MiB unless a
// flag says more, are a second of work for a core, so a container with a tenth of a core has decided them in ten
// seconds. A review that queues, or waits for bytes of its body, has no slot and does not count.
const stuckAfter = maxTimeout + 15*time.Second

// live is liveness: that of the process, and that no review is stuck. Deciding only computes, so a review that has not
// ended by then never will, and its slot is lost until the process is restarted. The self-probe does not notice, since
// its reviews have slots of their own. Stuck reviews of policies do not count: they take no slots from others.
func (s *server) live() error {
	if err := s.alive(); err != nil {
		return err
	}
	s.logStuck(s.guard.slots)
	if n := s.logStuck(s.reviews.slots); n > 0 {
		return fmt.Errorf("stuck: reviews that have been decided for more than %s: %d", stuckAfter, n)
	}
	return nil
}

// logStuck logs the stuck reviews, so that the object that causes them can be found, and returns how many there are.
func (s *server) logStuck(slots *limit.Slots) int {
	stuck := slots.Stuck(stuckAfter, uidBytes)
	for _, r := range stuck {
		s.log.Error("review is stuck", slog.String("path", r.Path), slog.String("uid", uidOf(r.Start)),
			slog.Duration("after", stuckAfter))
	}
	return len(stuck)
}

// uidOf returns the uid of a review that could not be decoded to its end; empty when it is not among the first bytes.
func uidOf(body []byte) string {
	uid, _ := review.UID(body[:min(len(body), uidBytes)])
	return uid
}
