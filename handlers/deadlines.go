package handlers

import (
	"net/http"
	"strings"
	"time"

	"github.com/evergate/evergate/admission"
)

// deadlines are those of one review.
type deadlines struct {
	queue   time.Time     // the queue deadline: until then it may wait for memory and for a slot
	answer  time.Time     // its client does not wait for the answer any longer
	timeout time.Duration // of the client
	// deciding is how long the review may be decided once it has its slot. Then it is answered as one whose object
	// cannot be judged.
	deciding time.Duration
}

// maxDeciding is how long an object may be decided: some twenty times as long as the most that one may cost takes a
// core of its own.
const maxDeciding = time.Second

const (
	// defaultTimeout and maxTimeout are the default and the bound of timeoutSeconds in a webhook configuration.
	defaultTimeout = 10 * time.Second
	maxTimeout     = 30 * time.Second
)

// deadlinesOf reads ?timeout=, the time d that kube-apiserver has left, rounded up to whole seconds, and divides it.
// The deadline is a tenth earlier, for the way back and for what was rounded up: at least 100 ms, and at most the
// second that rounding may add. The reviews of policies (guards) may be decided for longer than those of objects.
//
// A review queues until no more is left than Retry-After makes its client pause, or a fifth of d where that is less;
// that rest is for the decision. A client sends a review that was rejected earlier again within the same deadline,
// often on a new connection, and with the same ?timeout= though little of it is left: see
// docs/decisions/0003-wait-rather-than-retry.md.
func deadlinesOf(r *http.Request, start time.Time, guards bool) deadlines {
	value, alone := strings.CutPrefix(r.URL.RawQuery, "timeout=")
	if !alone || strings.ContainsAny(value, "&%+;") { // not as kube-apiserver writes it, which need not be parsed
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
