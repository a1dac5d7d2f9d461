package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// deadlines are those of one review.
type deadlines struct {
	queue   time.Time // the queue deadline: until then it may wait for memory and for a slot
	answer  time.Time // its client does not wait for the answer any longer
	timeout time.Duration
}

// maxJudging is how long a review may be decided once it has its slot: some twenty times as long as the most that one
// may cost takes a core of its own. Then it is answered as one whose object cannot be judged.
const maxJudging = time.Second

func (d deadlines) judging() time.Duration { return min(maxJudging, d.timeout/2) }

const (
	// defaultTimeout and maxTimeout are the default and the bound of timeoutSeconds in a webhook configuration.
	defaultTimeout = 10 * time.Second
	maxTimeout     = 30 * time.Second
)

// deadlinesOf reads ?timeout=, the time that kube-apiserver has left, rounded up to whole seconds.
func deadlinesOf(r *http.Request, start time.Time) deadlines {
	return deadlinesWithin(timeoutOf(r), start)
}

func timeoutOf(r *http.Request) time.Duration {
	d, err := time.ParseDuration(queryTimeout(r.URL))
	if err != nil || d <= 0 {
		d = defaultTimeout
	}
	return min(d, maxTimeout)
}

// queryTimeout returns the value of ?timeout=. As kube-apiserver writes it, alone and with nothing escaped, it need not
// be parsed.
func queryTimeout(u *url.URL) string {
	if value, ok := strings.CutPrefix(u.RawQuery, "timeout="); ok && !strings.ContainsAny(value, "&%+;") {
		return value
	}
	return u.Query().Get("timeout")
}

// deadlinesWithin divides the d that a client waits. The deadline is a tenth earlier, for the way back and for what was
// rounded up: at least 100 ms, and at most the second that rounding may add.
//
// A review queues until no more is left than Retry-After makes its client pause, or a fifth of d where that is less;
// that rest is for the decision. A client sends a review that was rejected earlier again within the same deadline,
// often on a new connection, and with the same ?timeout= though little of it is left: see
// docs/decisions/0003-wait-rather-than-retry.md.
func deadlinesWithin(d time.Duration, start time.Time) deadlines {
	return deadlines{
		queue:   start.Add(d - min(d/5, retryAfter)),
		answer:  start.Add(d - min(max(d/10, 100*time.Millisecond), time.Second)),
		timeout: d,
	}
}
