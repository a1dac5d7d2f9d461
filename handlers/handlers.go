// Package handlers implements Evergate's HTTP endpoints for kube-apiserver, the kubelet, Prometheus and the platform
// team.
//
// The files are, in the order in which a review passes through them:
//
//	handlers.go      the routes and their configuration
//	endpoint.go      one review: limits → body → decision (package admission) → response
//	capacity.go      how many reviews are in progress, and how much memory they take
//	deadlines.go     how long a review may queue and take
//	body.go          reading the body into memory that was reserved for it
//	errors.go        all responses that are not reviews
//	probes.go        /livez, /readyz, /policy
//	stuck.go         the detection of stuck reviews for /livez
package handlers

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/handlers/selfprobe"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

// Config contains the dependencies of the handlers. All fields are required, unless their comments allow nil.
type Config struct {
	// Policies holds the active policy. Current is called once for each review.
	Policies Policies
	// PolicyStatus returns the contents of /policy for encoding as JSON: hash, age, files, and the last failure to
	// load.
	PolicyStatus func() any
	// Ready and Live return nil if /readyz and /livez respond 200, and otherwise the reason for a 503.
	Ready, Live func() error
	// Authenticate rejects reviews from clients that are not accepted. If it is nil, all clients are accepted. Probes
	// do not need authentication.
	Authenticate func(http.Handler) http.Handler
	// SelfProbe sends the process's calls to itself. It may be nil.
	SelfProbe *selfprobe.Prober
	// Metrics counts reviews. Scrape serves /metrics.
	Metrics *telemetry.Metrics
	Scrape  http.Handler
	// Tracing creates the spans of reviews. If it is nil, reviews are not traced.
	Tracing *telemetry.Tracing
	// Log gets a throttled line for each denial, each review with a warning, and each failure. At level debug, it gets
	// a line for every review.
	Log *slog.Logger
	// Limits limits the reviews in progress. Its zero value means the defaults.
	Limits Limits
	// Version is the version in the warning of admission.Decision.Hello.
	Version string
}

// Policies holds the active policy. Current must be cheap and safe for concurrent use, and must not return nil.
type Policies interface {
	Current() *policy.Policy
}

// Limits limits the work in progress. Reviews that are served are then served in time and within the memory limit. A
// zero field means its default.
type Limits struct {
	// Reviews is how many reviews are decoded and decided at the same time. Both use only the CPU, so more reviews than
	// cores do not finish sooner. The default is four times GOMAXPROCS, which leaves slots for others while the kernel
	// or the scheduler has paused some reviews. A request that has just arrived may wait for as many decisions before
	// it is read.
	Reviews int
	// BodyBytes is how many bytes of bodies are held at the same time. The default of 64 MiB is enough for three of the
	// largest reviews, or six hundred Pods of 100 KiB. With the memory for decoding and garbage, this is 250 MiB.
	BodyBytes int64
}

// maxReviewBytes is the largest body of a review. An object that fits into etcd (1.5 MiB) can be six times as long in a
// review, because Go writes < as \u003c. An update also contains the old object. Together this is 18 MiB, and the rest
// is a margin for other fields.
const maxReviewBytes = 20 << 20

func (l Limits) withDefaults() Limits {
	if l.Reviews <= 0 {
		l.Reviews = 4 * runtime.GOMAXPROCS(0)
	}
	if l.BodyBytes <= 0 {
		l.BodyBytes = 64 << 20
	}
	l.BodyBytes = max(l.BodyBytes, maxReviewBytes) // a larger review would otherwise wait forever
	return l
}

// New returns two handlers. The handler serving is for the port that kube-apiserver calls, with reviews and probes. The
// handler ops is for the platform team's port, with probes, metrics, and the status of the policy.
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

// selfProbed returns the same routes with separate limits, metrics and log. The process authenticates to itself like
// any other client.
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
