package handlers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/telemetry"
)

// The reviews of policies have a capacity of their own. To check a policy takes up to a second and 100 MiB, a thousand
// times what other reviews take, and any peer can ask for it. So they neither take the slots and the
// memory of other reviews, nor do they make the process look as if it hung.
const (
	// maxGuardBytes is how long a body may be: a ConfigMap has at most 1 MiB of text, of which JSON makes up to two to
	// four as often as not, and an update carries the old one too.
	maxGuardBytes = 6 << 20
	// guardBodies is the memory of their bodies: of one that is checked, and of one that arrives.
	guardBodies = 2 * maxGuardBytes
	// guardWithin ends the check of one, which for 1 MiB of policy takes a fraction of it. It is two thirds of the three
	// seconds that the kit's webhook gives; where a caller gives less, two thirds of that.
	guardWithin = 2 * time.Second
)

func newGuardCapacity(m *telemetry.Metrics) capacity {
	// Waits for this slot stay out of the histogram, where they would hide those of reviews of objects.
	unmeasured := prometheus.ObserverFunc(func(float64) {})
	return capacity{
		name:   "policy_reviews",
		memory: limit.NewMemory(guardBodies, m.BodyBytesInFlight()),
		slots:  limit.NewSlots(1),
		waits:  unmeasured,
		most:   maxGuardBytes,
	}
}

// guardPolicy judges a ConfigMap that a policy lies in, so that kubectl apply refuses what the processes would refuse after
// it, with the sentences of their log: file, line, column, and what would be right. The ConfigMap is loaded as the
// processes load it when it is mounted, key by key.
//
// Which ConfigMap is sent here is the webhook configuration's business. There is no mode in which a policy that is none
// gets in, and no ratchet: what was there before is not judged, and what replaces it has to be right as a whole.
func guardPolicy(_ *policy.Policy, r *review.Request[review.ConfigMap], effort *policy.Effort, v *verdict) error {
	loaded, err := policy.LoadWithin(expiring{context.Background(), effort}, policy.ReviewLimits(), r.Object.Files...)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		v.mistakes = []string{fmt.Sprintf("this policy was not checked to its end in time, which is %s at most: make it smaller, or "+
			"send it again when the server has less to do", guardWithin)}
	case err != nil:
		for mistake := range strings.SplitSeq(err.Error(), "\n") {
			v.mistakes = append(v.mistakes, mistake)
		}
		if total := policy.Mistakes(err); total > len(v.mistakes) {
			v.mistakes = v.mistakes[:len(v.mistakes)-1] // the last one counts the others
			v.untold = total - len(v.mistakes)
		}
	case len(r.Object.Files) == 0:
		v.notes = []string{"this policy is empty: no key of the ConfigMap ends in .yaml or .yml"}
	case loaded.Counts() == (policy.Counts{}):
		v.notes = []string{"this policy is empty: no entry is switched on"}
	default:
		v.notes = policyNotes(loaded.Warnings())
	}
	return nil
}

// policyNotes are the warnings of a policy that is allowed, as many as an answer carries.
func policyNotes(warnings []string) []string {
	var lines few
	for _, w := range warnings {
		if lines.room() {
			lines.add(text.Truncate(w, maxSentence))
		}
	}
	if more := lines.more(); more > 0 {
		lines.kept = append(lines.kept, "and "+strconv.Itoa(more)+" more: evergate policy check prints all")
	}
	return lines.kept
}

// expiring is a context that is done when an effort is.
type expiring struct {
	context.Context
	effort *policy.Effort
}

// Err implements context.Context.
func (e expiring) Err() error {
	if e.effort.Expired != nil && e.effort.Expired() {
		return context.DeadlineExceeded
	}
	return nil
}
