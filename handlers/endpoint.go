package handlers

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/telemetry"
)

// server is what all endpoints share.
type server struct {
	policies Policies
	bodies   *budget
	buffers  buffers // what they are read into, and answers written
	reviews  *gate   // reviews that are decoded and decided
	overdue  *Overdue
	guard    capacity // of the reviews of policies
	metrics  *telemetry.Metrics
	tracing  *telemetry.Tracing
	log      *slog.Logger
}

func newServer(cfg Config) *server {
	limits := cfg.Limits.withDefaults()
	inside, waits := cfg.Metrics.ReviewsInFlight(), cfg.Metrics.ReviewWaits()
	return &server{
		policies: cfg.Policies,
		bodies:   newBudget(limits.BodyBytes, limits.Line, cfg.Metrics.BodyBytesInFlight()),
		reviews:  newGate(reviewsAtOnce, int64(limits.Reviews), limits.Line, inside, waits),
		overdue:  cmp.Or(cfg.Overdue, new(Overdue)),
		guard:    newGuardCapacity(cfg.Metrics),
		metrics:  cfg.Metrics,
		tracing:  cfg.Tracing,
		log:      cfg.Metrics.Throttle(cfg.Log),
	}
}

// capacity is what the reviews of some paths share, and bounds how many of them are in progress.
type capacity struct {
	bodies  *budget
	slots   *gate
	overdue *Overdue
	most    int64 // bytes of one body
}

// endpoint answers the reviews that come in on one path.
type endpoint struct {
	*server
	reviewing
	capacity capacity
	series   telemetry.Endpoint
	spans    *telemetry.TracedEndpoint
}

func (s *server) endpoint(r reviewing) *endpoint {
	where := capacity{bodies: s.bodies, slots: s.reviews, overdue: s.overdue, most: maxReviewBytes}
	if r.guard {
		where = s.guard
	}
	return &endpoint{server: s, reviewing: r, capacity: where, series: s.metrics.Endpoint(r.path), spans: s.tracing.Endpoint(r.path)}
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	span := e.spans.Review(r)
	connection := http.NewResponseController(w) // what it cannot do, a writer of a test cannot
	v, err := e.review(connection, r, start, span)
	took := time.Since(start)
	e.count(v, err, took, span.TraceID())
	span.Stage("write")
	if err != nil {
		writeError(w, err)
	} else {
		writeAnswer(w, v.encoded)
	}
	// The answer goes out before it is logged: a log that nobody reads must not withhold it.
	_ = connection.Flush()
	if err == nil {
		e.buffers.put(v.encoded)
	}
	e.trace(span, r, v, err, took)
	e.tell(r, v, err, span)
}

// review is the way of one review: limits, body, decision. What it was given room for is given back before the
// answer is written, since a slow reader needs none of it.
func (e *endpoint) review(
	connection *http.ResponseController, r *http.Request, start time.Time, span *telemetry.ReviewSpan,
) (*verdict, error) {
	if err := checkHeader(r); err != nil {
		return nil, err
	}
	t := timesOf(r, start)
	ctx := newLateContext(span.Context(r.Context()), t.deadline)
	defer ctx.end()
	_ = connection.SetReadDeadline(t.deadline) // a context does not end the reading of a body

	span.Stage("read body")
	if r.ContentLength > e.capacity.most {
		return e.tooLarge(r)
	}
	held := e.capacity.bodies.share(func(why error) {
		ctx.cutOff(why)
		_ = connection.SetReadDeadline(time.Now())
	})
	defer held.release()
	body, err := e.readBody(ctx, r, t.patience, held)
	if err != nil {
		return nil, err
	}
	span.Stage("wait for turn")
	if err := e.capacity.slots.enter(ctx, t.patience, 1); err != nil {
		return nil, err
	}
	began := time.Now()
	defer func() { e.capacity.slots.leave(1, time.Since(began)) }()
	within := t.judging()
	if e.reviewing.guard {
		within = min(guardWithin, t.timeout*2/3)
	}
	return e.decide(body, within, span)
}

// decide takes the policy, once, and judges the review in body by it. Nobody may use body after that: whatever is kept
// of it is a copy.
func (e *endpoint) decide(body []byte, within time.Duration, span *telemetry.ReviewSpan) (v *verdict, err error) {
	inTime := false
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			v, err = nil, &panicError{value: p, stack: debug.Stack(), uid: uidOf(body)}
		}
		if inTime { // otherwise reportOverdue may still be reading it
			e.buffers.put(body)
		}
	}()
	watch := e.capacity.overdue.watch(body, e.reportOverdue)
	defer func() { inTime = watch.end() }()
	p := e.policies.Current()
	began := time.Now()
	effort := &policy.Effort{Expired: func() bool { return time.Since(began) > within }}
	v, err = e.judge(p, body, effort, span)
	if content, ok := errors.AsType[*review.ContentError](err); ok {
		v, err = e.cannotJudge(p, content.UID, content.Msg, !content.Oversized && review.Unchanged(body)), nil
	}
	if err != nil {
		return nil, err
	}
	span.Stage("encode")
	e.encode(v)
	return v, nil
}

// encode writes the answer into a buffer that goes back when it is sent.
func (e *endpoint) encode(v *verdict) {
	answer := v.answer()
	v.encoded = answer.Append(e.buffers.get(int64(answer.Size()))[:0])
}

// tooLarge decides on a review that is not read because of its size. The object's author chose the size, so it is
// answered rather than failed: where a failed call lets the object in, size would be a way around the policy.
func (e *endpoint) tooLarge(r *http.Request) (*verdict, error) {
	uid, err := skipBody(r)
	if err != nil {
		return nil, err
	}
	v := e.cannotJudge(e.policies.Current(), uid, fmt.Sprintf("the review of this object has %s, at most %s are judged: "+
		"make the object smaller", mebibytes(r.ContentLength), mebibytes(e.capacity.most)), false)
	e.encode(v)
	return v, nil
}

// cannotJudge decides on an object that cannot be judged because of its own content, by the strictest entry that might
// have matched it: a policy in which nothing is enforced yet denies nothing, and says what it would have denied.
//
// An update is no exception, although the object may have been as it is before. What cannot be read cannot be compared,
// so an object that once got in like this could be changed into anything. It can still be deleted, and what is
// unchanged in all that could be judged is warned of at most: its finalizers can be removed.
func (e *endpoint) cannotJudge(p *policy.Policy, uid, why string, unchanged bool) *verdict {
	v := &verdict{uid: uid, policy: p.Hash()}
	mode := e.mode(p.Strictest())
	if unchanged {
		mode = min(mode, policy.Warn)
	}
	if mode != policy.Off {
		v.unjudged = unreadable{text.Printable(why, maxSentence), mode}
	}
	return v
}

func writeAnswer(w http.ResponseWriter, answer []byte) {
	values := [...]string{"application/json", strconv.Itoa(len(answer))} // in one piece, which Header.Set would make two of
	h := w.Header()
	h["Content-Type"] = values[:1:1]
	h["Content-Length"] = values[1:]
	_, _ = w.Write(answer) // it fails when the caller has gone, and then there is nobody to tell
}

// times are the limits in time of one review.
type times struct {
	patience time.Time // until then it may wait for its turn
	deadline time.Time // from then on nobody waits for the answer
	timeout  time.Duration
}

// maxJudging is how long a review may be decided once it has its slot: some twenty times as long as the most that one may
// cost takes a core of its own. Then it is answered as one whose object cannot be judged.
const maxJudging = time.Second

func (t times) judging() time.Duration { return min(maxJudging, t.timeout/2) }

const (
	// defaultTimeout and maxTimeout are the default and the bound of timeoutSeconds in a webhook configuration.
	defaultTimeout = 10 * time.Second
	maxTimeout     = 30 * time.Second
)

// timesOf reads ?timeout=, the time that kube-apiserver has left, rounded up to whole seconds.
func timesOf(r *http.Request, start time.Time) times { return timesWithin(timeoutOf(r), start) }

func timeoutOf(r *http.Request) time.Duration {
	d, err := time.ParseDuration(queryTimeout(r.URL))
	if err != nil || d <= 0 {
		d = defaultTimeout
	}
	return min(d, maxTimeout)
}

// queryTimeout returns the value of ?timeout=. As kube-apiserver writes it, alone and with nothing escaped, it need not be
// parsed.
func queryTimeout(u *url.URL) string {
	if value, ok := strings.CutPrefix(u.RawQuery, "timeout="); ok && !strings.ContainsAny(value, "&%+;") {
		return value
	}
	return u.Query().Get("timeout")
}

// timesWithin divides the d that a caller waits. The deadline is a tenth earlier, for the way back and for what was
// rounded up: at least 100 ms, and at most the second that it can have been.
//
// A review waits until no more is left than Retry-After makes its caller pause, or a fifth where that is less, which is
// then there for the decision. One that is turned away earlier is sent again within the same deadline, often on a new
// connection, and says the same ?timeout= though little of it is left: see docs/decisions/0003-wait-rather-than-retry.md.
func timesWithin(d time.Duration, start time.Time) times {
	return times{
		patience: start.Add(d - min(d/5, retryAfter)),
		deadline: start.Add(d - min(max(d/10, 100*time.Millisecond), time.Second)),
		timeout:  d,
	}
}
