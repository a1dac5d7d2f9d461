// Package handlers is Evergate's HTTP: what kube-apiserver, kubelet, Prometheus and operators request of it.
//
// The files, in the order of a review:
//
//	handlers.go      the routes, and what they need
//	endpoint.go      one review: limits → body → decision (package admission) → answer
//	capacity.go      how many reviews are in progress, and how much memory they take
//	deadlines.go     how long a review may queue and take
//	body.go          reading the body into memory that was reserved for it
//	errors.go        every answer that is not a review
//	observe.go       how logs and metrics report a review
//	trace.go         how its span reports it
//	probes.go        /livez, /readyz, /policy
//	stuck.go         the stuck-review detector, which /livez asks
package handlers

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/selfprobe"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// Config is what the handlers need. All fields are required unless they say otherwise.
type Config struct {
	// Policies holds the policy that decides. Current is called once for each review.
	Policies Policies
	// PolicyStatus returns what /policy shows, as JSON: hash, age, files, and what was refused last.
	PolicyStatus func() any
	// Ready and Live say why /readyz and /livez answer 503; nil is 200.
	Ready, Live func() error
	// Authenticate rejects the reviews of clients that are not accepted; nil accepts all. Probes are exempt.
	Authenticate func(http.Handler) http.Handler
	// SelfProbe is the process calling itself; nil for none.
	SelfProbe *selfprobe.Prober
	// Metrics counts reviews; Scrape serves /metrics.
	Metrics *telemetry.Metrics
	Scrape  http.Handler
	// Tracing makes the spans of reviews; nil makes none.
	Tracing *telemetry.Tracing
	// Log gets a line for each denial, each review warned of, and each failure, throttled; at level debug for every
	// review.
	Log *slog.Logger
	// Limits bounds what is in progress. Its zero value stands for the defaults.
	Limits Limits
}

// Policies holds the policy that decides. Current must be cheap, never nil, and safe for any number of goroutines.
type Policies interface {
	Current() *policy.Policy
}

// Limits bounds what the process has in progress, so that the reviews that it can serve are served in time, within the
// memory that it was given. A zero field stands for its default.
type Limits struct {
	// Reviews is how many reviews are decoded and decided at once. Both only compute, so more than there are cores do not
	// end sooner. The default is four times GOMAXPROCS: a review that the kernel or the scheduler has paused leaves slots
	// for others. A request that has just arrived may wait for as many decisions before it is read.
	Reviews int
	// BodyBytes is how many bytes of bodies are held at once. The default is 64 MiB: three of the largest reviews, or
	// six hundred Pods of 100 KiB; with what decoding allocates and garbage, 250 MiB of memory.
	BodyBytes int64
}

// A review may have this many bytes. An object that fits etcd (1.5 MiB) can be six times as long in a review, since
// Go writes < as \u003c, and an update carries the old one too: 18 MiB, and a margin for the rest of the review.
const maxReviewBytes = 20 << 20

func (l Limits) withDefaults() Limits {
	if l.Reviews <= 0 {
		l.Reviews = 4 * runtime.GOMAXPROCS(0)
	}
	if l.BodyBytes <= 0 {
		l.BodyBytes = 64 << 20
	}
	l.BodyBytes = max(l.BodyBytes, maxReviewBytes) // a larger review than that would wait for ever
	return l
}

// New returns two handlers: serving is for the port that kube-apiserver calls, with reviews and probes; ops is for the
// port of operators, with probes, metrics, and what is loaded.
func New(cfg Config) (serving, ops http.Handler) {
	s := newServer(cfg)
	return s.serving(cfg, admission.Webhooks()), s.ops(cfg)
}

func (s *server) serving(cfg Config, webhooks []admission.Webhook) http.Handler {
	r := router()
	authenticate := cfg.Authenticate
	if authenticate == nil {
		authenticate = func(next http.Handler) http.Handler { return next }
	}
	for _, w := range webhooks {
		r.Method(http.MethodPost, w.Path, authenticate(s.endpoint(w)))
		if route, e := s.setEndpoint(w); e != nil {
			r.Method(http.MethodPost, route, authenticate(e))
		}
	}
	r.Get("/livez", probe(s.live))
	r.Get("/readyz", probe(cfg.Ready))
	if cfg.SelfProbe != nil {
		r.Mount(cfg.SelfProbe.Prefix(), selfProbed(cfg))
	}
	return r
}

// selfProbed returns the same routes with limits, metrics and a log of their own. The process authenticates to itself
// as any client does.
func selfProbed(cfg Config) http.Handler {
	own := Config{
		Policies:     cfg.SelfProbe,
		Authenticate: cfg.Authenticate,
		Ready:        cfg.Ready,
		Live:         cfg.Live,
		Metrics:      telemetry.NewMetrics(prometheus.NewRegistry()),
		Log:          slog.New(slog.DiscardHandler),
	}
	return newServer(own).serving(own, admission.Webhooks())
}

func (s *server) ops(cfg Config) http.Handler {
	r := router()
	r.Get("/livez", probe(s.live))
	r.Get("/readyz", probe(cfg.Ready))
	r.Method(http.MethodGet, "/metrics", cfg.Scrape)
	r.Get("/policy", policyPage(cfg.PolicyStatus))
	return r
}

func router() chi.Router {
	r := chi.NewRouter()
	r.NotFound(func(w http.ResponseWriter, req *http.Request) { writeError(w, notFound(req)) })
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) { writeError(w, methodNotAllowed(r, req)) })
	return r
}
