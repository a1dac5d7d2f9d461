package handlers

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// server contains what all endpoints share.
type server struct {
	policies Policies
	buffers  limit.Buffers // that bodies are read into
	reviews  capacity      // of the reviews of objects
	guard    capacity      // of the reviews of policies
	alive    func() error
	metrics  *telemetry.Metrics
	tracing  *telemetry.Tracing // nil if reviews are not traced
	log      *slog.Logger
	version  string
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
		version: cfg.Version,
	}
}

// endpoint answers the reviews of one path.
type endpoint struct {
	*server
	admission.Webhook
	capacity  capacity
	telemetry *telemetry.Endpoint
}

func (s *server) endpoint(w admission.Webhook) *endpoint {
	where := s.reviews
	if w.Guards {
		where = s.guard
	}
	return &endpoint{s, w, where, s.metrics.Endpoint(&w, s.tracing, s.log)}
}

// setParam is the parameter of a route that contains the name of a rule set.
const setParam = "set"

// setEndpoint returns the endpoint for all rule sets of a webhook, and its route. It returns an empty route for a
// webhook without rule sets. In logs, metrics and spans, the path is the route, because a client can send any name.
func (s *server) setEndpoint(w admission.Webhook) (route string, e *endpoint) {
	if w.Path = w.SetPath("{" + setParam + "}"); w.Path == "" {
		return "", nil
	}
	return w.Path, s.endpoint(w)
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	due := deadlinesOf(r, start, e.Guards)
	observed := e.telemetry.Begin(r, start, due.timeout)
	connection := http.NewResponseController(w) // fails only for the writers of tests
	d, err := e.review(connection, r, due, observed)
	if err != nil {
		observed.Answer(telemetry.Result{Failure: failureOf(err)})
		writeError(w, err)
	} else {
		observed.Answer(telemetry.Result{Decision: d.Decision, Size: len(d.encoded)})
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(d.encoded)))
		_, _ = w.Write(d.encoded) // it fails when the client has gone
	}
	_ = connection.Flush() // before the review is logged
	observed.End()
}

// review applies the limits, reads the body and decides the review. It releases the slot and the memory before the
// response is written, so a client that reads slowly does not hold them.
func (e *endpoint) review(
	connection *http.ResponseController, r *http.Request, due deadlines, observed *telemetry.Review,
) (decision, error) {
	if err := checkHeader(r); err != nil {
		return decision{}, err
	}
	ctx, cancel := context.WithDeadline(r.Context(), due.answer)
	defer cancel()
	_ = connection.SetReadDeadline(due.answer) // a context does not end the reading of a body

	observed.Stage("read body")
	if r.ContentLength > e.capacity.most {
		return e.tooLarge(r)
	}
	memory := e.capacity.memory.Reserve(func() { _ = connection.SetReadDeadline(time.Now()) })
	defer memory.Release()
	body, err := e.readBody(ctx, r, due.queue, memory, observed)
	if err != nil {
		return decision{}, err
	}
	observed.Stage("wait for slot")
	waited := time.Now()
	slot, err := e.capacity.slots.Acquire(ctx, due.queue, e.Path, body)
	e.capacity.waits.Observe(time.Since(waited).Seconds())
	if err != nil {
		return decision{}, shed(err, e.capacity.name)
	}
	defer func() {
		slot.Release()
		e.buffers.Put(body) // not before: the stuck-review detector may read it
	}()
	e.metrics.ReviewsInFlight().Inc()
	defer e.metrics.ReviewsInFlight().Dec()
	return e.answer(chi.URLParam(r, setParam), body, due.deciding, observed)
}

// answer decides the review in body by the current policy, or by one of its rule sets, and encodes the response. It
// loads the policy once. It returns a panic as an error.
func (e *endpoint) answer(
	set string, body []byte, within time.Duration, observed *telemetry.Review,
) (d decision, err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			d, err = decision{}, &panicError{value: p, stack: debug.Stack(), uid: uidOf(body)}
		}
	}()
	began := time.Now()
	effort := &policy.Effort{Expired: func() bool { return time.Since(began) > within }}
	decided, err := e.Decide(e.policies.Current(), set, body, began, effort, observed.Stage)
	if err != nil {
		return decision{}, err
	}
	observed.Stage("encode")
	if decided.DryRun && bytes.Contains(body, []byte(helloKey)) {
		path := strings.Replace(e.Path, "{"+setParam+"}", set, 1)
		return encode(decided, decided.Hello(path, cmp.Or(e.version, "unknown"))), nil
	}
	return encode(decided), nil
}

// helloKey is the annotation as the API server writes it.
const helloKey = `"` + admission.HelloAnnotation + `":`

// decision is a decision and its encoded response.
type decision struct {
	*admission.Decision
	encoded []byte
}

// encode encodes the response of a decision, with further warnings before its own.
func encode(d *admission.Decision, warnings ...string) decision {
	answer := d.Response()
	answer.Warnings = append(warnings, answer.Warnings...)
	return decision{d, answer.JSON()}
}

// tooLarge decides a review that is not read because of its size. It returns a decision and not an error, because the
// author of the object chose the size. If a failed call admitted the object, a large object could bypass the policy.
func (e *endpoint) tooLarge(r *http.Request) (decision, error) {
	head, err := skipBody(r)
	if err != nil {
		return decision{}, err
	}
	why := fmt.Sprintf("the review of this object has %s, at most %s are evaluated: make the object smaller",
		mebibytes(r.ContentLength), mebibytes(e.capacity.most))
	return encode(e.Unevaluated(e.policies.Current(), chi.URLParam(r, setParam), head, why, false)), nil
}
