package handlers

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/review"
)

// stuckAfter is how long a decision may take before its review counts as stuck. It is far longer than high load can
// cause. No client waits for a review that is older than maxTimeout. All bodies that are decided at one time, 64 MiB by
// default, are a second of work for a core, so a container with a tenth of a core has decided them in ten seconds. A
// review that queues or waits for bytes of its body does not have a slot and does not count.
const stuckAfter = maxTimeout + 15*time.Second

// live returns an error if the process is not alive or if a review is stuck. A decision only computes, so a review that
// has not finished by then never will, and its slot is lost until the process restarts. The self-probe cannot detect
// this, because its reviews have separate slots. Stuck policy reviews do not count, because they do not take slots
// from other reviews.
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

// logStuck logs the stuck reviews, to help to find the objects that cause them, and returns their number.
func (s *server) logStuck(slots *limit.Slots) int {
	stuck := slots.Stuck(stuckAfter, headBytes)
	for _, r := range stuck {
		s.log.Error("review is stuck", slog.String("path", r.Path), slog.String("uid", uidOf(r.Start)),
			slog.Duration("after", stuckAfter))
	}
	return len(stuck)
}

// uidOf returns the uid of a review that could not be decoded completely, or "" if the first bytes do not contain it.
func uidOf(body []byte) string {
	head, _ := review.ReadHead(body[:min(len(body), headBytes)])
	return head.UID
}
