package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/telemetry"
)

// server is what all endpoints share.
type server struct {
	policies Policies
	buffers  limit.Buffers // what bodies are read into, and answers written
	reviews  capacity      // of the reviews of objects
	guard    capacity      // of the reviews of policies
	alive    func() error
	metrics  *telemetry.Metrics
	tracing  *telemetry.Tracing
	log      *slog.Logger
}

func newServer(cfg Config) *server {
	limits := cfg.Limits.withDefaults()
	return &server{
		policies: cfg.Policies,
		reviews: capacity{
			name:   "reviews",
			memory: limit.NewMemory(limits.BodyBytes, cfg.Metrics.BodyBytesInFlight()),
			slots:  limit.NewSlots(limits.Reviews),
			waits:  cfg.Metrics.ReviewWaits(),
			most:   maxReviewBytes,
		},
		guard:   newGuardCapacity(cfg.Metrics),
		alive:   cfg.Live,
		metrics: cfg.Metrics,
		tracing: cfg.Tracing,
		log:     cfg.Metrics.Throttle(cfg.Log),
	}
}

// capacity is what the reviews of some paths share, and bounds how many of them are in progress.
type capacity struct {
	name   string // of what the slots are for, in metrics and sentences
	memory *limit.Memory
	slots  *limit.Slots
	waits  prometheus.Observer // in seconds, of each review
	most   int64               // bytes of one body
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
	where := s.reviews
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
		e.buffers.Put(v.encoded)
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
	d := deadlinesOf(r, start)
	ctx, cancel := context.WithDeadline(span.Context(r.Context()), d.answer)
	defer cancel()
	_ = connection.SetReadDeadline(d.answer) // a context does not end the reading of a body

	span.Stage("read body")
	if r.ContentLength > e.capacity.most {
		return e.tooLarge(r)
	}
	memory := e.capacity.memory.Reserve(func() { _ = connection.SetReadDeadline(time.Now()) })
	defer memory.Release()
	body, err := e.readBody(ctx, r, d.queue, memory)
	if err != nil {
		return nil, err
	}
	span.Stage("wait for slot")
	waited := time.Now()
	slot, err := e.capacity.slots.Acquire(ctx, d.queue)
	e.capacity.waits.Observe(time.Since(waited).Seconds())
	if err != nil {
		return nil, shed(err, e.capacity.name)
	}
	slot.Describe(e.path, body)
	defer func() {
		slot.Release()
		e.buffers.Put(body) // not before: the stuck-review detector may read it
	}()
	e.metrics.ReviewsInFlight().Inc()
	defer e.metrics.ReviewsInFlight().Dec()
	within := d.judging()
	if e.reviewing.guard {
		within = min(guardWithin, d.timeout*2/3)
	}
	return e.decide(body, within, span)
}

// decide takes the policy, once, and judges the review in body by it. What the decision keeps of body is a copy.
func (e *endpoint) decide(body []byte, within time.Duration, span *telemetry.ReviewSpan) (v *verdict, err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			v, err = nil, &panicError{value: p, stack: debug.Stack(), uid: uidOf(body)}
		}
	}()
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
	v.encoded = answer.Append(e.buffers.Get(int64(answer.Size()))[:0])
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
