package handlers

import (
	"net/http"
	"strings"
	"time"

	"github.com/evergate/evergate/admission"
)

// deadlines are the deadlines of one review.
type deadlines struct {
	queue   time.Time     // the queue deadline: until then the review may wait for memory and for a slot
	answer  time.Time     // after this, the client no longer waits for the response
	timeout time.Duration // the client's timeout
	// deciding is how long the decision may take once the review has its slot. After that, the response treats the
	// object as if it could not be evaluated.
	deciding time.Duration
}

// maxDeciding is how long an object may be evaluated. It is about twenty times as long as the costliest object takes on
// a free core.
const maxDeciding = time.Second

const (
	// defaultTimeout and maxTimeout are the default and the maximum of timeoutSeconds in a webhook configuration.
	defaultTimeout = 10 * time.Second
	maxTimeout     = 30 * time.Second
)

// deadlinesOf parses ?timeout=, the time d that kube-apiserver has left, rounded up to whole seconds, and divides it.
// The answer deadline is a tenth of d earlier, to allow for the way back and for the rounding: at least 100 ms, and at
// most the second that rounding may add. Policy reviews (guards) may take longer than other reviews.
//
// A review waits in the queue until the rest of d equals the pause of Retry-After, or a fifth of d if that is shorter.
// The rest is for the decision. If a review is rejected earlier, its client sends it again within the same deadline,
// often on a new connection, and with the same ?timeout= although little of that time is left: see
// docs/decisions/0003-wait-rather-than-retry.md.
func deadlinesOf(r *http.Request, start time.Time, guards bool) deadlines {
	value, alone := strings.CutPrefix(r.URL.RawQuery, "timeout=")
	if !alone || strings.ContainsAny(value, "&%+;") { // not as kube-apiserver writes it, which does not need parsing
		value = r.URL.Query().Get("timeout")
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		d = defaultTimeout
	}
	d = min(d, maxTimeout)
	deciding := min(maxDeciding, d/2)
	if guards {
		deciding = min(admission.GuardWithin, d*2/3)
	}
	return deadlines{
		queue:    start.Add(d - min(d/5, retryAfter)),
		answer:   start.Add(d - min(max(d/10, 100*time.Millisecond), time.Second)),
		timeout:  d,
		deciding: deciding,
	}
}
