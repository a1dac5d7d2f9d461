package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/evergate/evergate/internal/text"
)

// TracingFromEnvironment returns tracing that is configured by OpenTelemetry's environment variables. It returns nil if
// they do not set an endpoint or switch tracing off. version is the version of the service.
//
// The error contains a line for each variable with an invalid value. OpenTelemetry's SDK would ignore such a variable.
// Evergate does not start, as with an invalid flag. Values come with the Deployment, so a mistake is then found during
// the rollout, while the old replicas still serve, and not on the day when somebody needs a trace. Failures that can
// occur later, of the collector or the file of its CA, never stop the process.
func (m *Metrics) TracingFromEnvironment(ctx context.Context, version string, log *slog.Logger) (*Tracing, error) {
	env := environment{get: os.Getenv} // the SDK does not use any other source
	if env.off() {
		return nil, nil //nolint:nilnil // a nil Tracing does nothing
	}
	env.check()
	if env.bad != nil {
		return nil, env.bad
	}
	sampler := env.sampler()
	// Host attributes that cannot be detected are left out. The variables are already checked.
	attrs, _ := resource.New(ctx, resource.WithAttributes(env.service(version)...), resource.WithHost(),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // the last option wins
	log = log.With("component", "tracing")
	// The SDK logs some errors, such as a CA file that cannot be read, only to a logger that the whole process shares,
	// because it does not accept a logger for each provider. Without these two calls, those lines would not be JSON.
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("OpenTelemetry", "error", err) }))
	exporter, err := env.exporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("the exporter of OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	log.Info("reviews are traced", "endpoint", env.endpoint(), "protocol", env.protocol(), "sampler",
		sampler.Description())
	return m.NewTracing(TracingConfig{
		Exporter: exporter, Sampler: sampler, Resource: attrs, QueueSize: env.number("OTEL_BSP_MAX_QUEUE_SIZE"), Log: log,
	}), nil
}

// CheckEnvironment returns the error that TracingFromEnvironment would return for an environment: a line for each
// variable with an invalid value. get returns the value of a variable, like os.Getenv.
func CheckEnvironment(get func(name string) string) error {
	env := environment{get: get}
	if !env.off() {
		env.check()
	}
	return env.bad
}

// environment reads OpenTelemetry's variables and collects the errors in them.
type environment struct {
	get func(string) string
	bad error
}

// service returns the attributes of the process in all spans. The attributes of the Pod come from variables that the
// manifests set through the downward API. Outside Kubernetes, they are not set.
//
// service.instance.id distinguishes replicas. OpenTelemetry recommends a UUID, and the UID of a Pod is one. It does not
// change when a container in the Pod restarts. Without a Pod it is random, because two processes on one machine must
// differ.
func (e *environment) service(version string) []attribute.KeyValue {
	pod := e.value("K8S_POD_UID")
	attrs := []attribute.KeyValue{
		semconv.ServiceName("evergate"), semconv.ServiceVersion(version),
		semconv.ServiceInstanceID(cmp.Or(pod, e.value("K8S_POD_NAME"), uuid.NewString())),
	}
	for _, a := range []attribute.KeyValue{
		semconv.K8SNamespaceName(e.value("K8S_NAMESPACE_NAME")), semconv.K8SNodeName(e.value("K8S_NODE_NAME")),
		semconv.K8SPodName(e.value("K8S_POD_NAME")), semconv.K8SPodUID(pod),
	} {
		if a.Value.AsString() != "" {
			attrs = append(attrs, a)
		}
	}
	return attrs
}

// off reports whether tracing is off. Other variables are then not checked, because they may be meant for another
// process.
func (e *environment) off() bool {
	return e.otlp("ENDPOINT") == "" || e.value("OTEL_TRACES_EXPORTER") == "none" ||
		strings.EqualFold(e.value("OTEL_SDK_DISABLED"), "true") || e.value("OTEL_TRACES_SAMPLER") == "always_off"
}

func (e *environment) value(name string) string { return strings.TrimSpace(e.get(name)) }

// otlp returns the value of an exporter variable: the variable for traces if it is set, otherwise the variable for all
// signals.
func (e *environment) otlp(name string) string {
	return cmp.Or(e.value("OTEL_EXPORTER_OTLP_TRACES_"+name), e.value("OTEL_EXPORTER_OTLP_"+name))
}

// endpoint returns the URL that spans are sent to, without a password.
func (e *environment) endpoint() string {
	u, err := url.Parse(e.otlp("ENDPOINT"))
	if err != nil {
		return ""
	}
	return u.Redacted()
}

// protocol returns the protocol. The default is http/protobuf, which the specification of OTLP exporters recommends.
func (e *environment) protocol() string { return cmp.Or(e.otlp("PROTOCOL"), "http/protobuf") }

// number returns a whole number, or 0 if the variable is not set or is invalid.
func (e *environment) number(name string) int {
	n, _ := strconv.Atoi(e.value(name))
	return n
}

func (e *environment) exporter(ctx context.Context) (*otlptrace.Exporter, error) {
	if e.protocol() == "grpc" {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

// check reports the values that the SDK and its exporters would silently ignore.
func (e *environment) check() {
	const (
		milliseconds = "write milliseconds"
		number       = "write a number above 0"
		truth        = "write true or false"
	)
	e.want("OTEL_TRACES_EXPORTER", oneOf("otlp"), "write otlp, or none")
	e.want("OTEL_SDK_DISABLED", isBool, truth)
	for _, signals := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		e.want(signals+"ENDPOINT", isURL, "write a URL, such as http://collector:4318")
		e.want(signals+"PROTOCOL", oneOf("grpc", "http/protobuf"), "write grpc or http/protobuf")
		e.want(signals+"COMPRESSION", oneOf("gzip", "none"), "write gzip or none")
		e.want(signals+"INSECURE", isBool, truth)
		e.want(signals+"HEADERS", areHeaders, "write name=value, separated by commas")
		e.want(signals+"TIMEOUT", isPositive, milliseconds)
	}
	e.want("OTEL_BSP_SCHEDULE_DELAY", isPositive, milliseconds)
	e.want("OTEL_BSP_EXPORT_TIMEOUT", isPositive, milliseconds)
	e.want("OTEL_BSP_MAX_QUEUE_SIZE", isPositive, number)
	e.want("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", isPositive, number)
	e.want("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", isPositive, number)
	e.want("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", isPositive, number)
	e.want("OTEL_ATTRIBUTE_COUNT_LIMIT", isPositive, number)
	e.want("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", isPositive, number)
	e.sampler()
	e.want("OTEL_RESOURCE_ATTRIBUTES", areAttributes, "write name=value, separated by commas")
}

// want reports an error if a variable is set to a value that does not pass.
func (e *environment) want(name string, passes func(string) bool, otherwise string) {
	if v := e.value(name); v != "" && !passes(v) {
		e.reject(name, otherwise)
	}
}

// reject adds the error about a variable. It does not show headers, because they contain tokens.
func (e *environment) reject(name, want string) {
	is := "is " + text.Quote(e.get(name))
	if strings.HasSuffix(name, "_HEADERS") {
		is = "cannot be read"
	}
	e.bad = errors.Join(e.bad, fmt.Errorf("the environment variable %s %s: %s", name, is, want))
}

func oneOf(words ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(words, s) }
}

func isBool(s string) bool { return strings.EqualFold(s, "true") || strings.EqualFold(s, "false") }

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func isPositive(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0
}

func areHeaders(s string) bool {
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); !ok || strings.TrimSpace(name) == "" || err != nil {
			return false
		}
	}
	return true
}

// areAttributes accepts the same attributes as the SDK. A name without a value is an error. A value that cannot be
// unescaped is used unchanged.
func areAttributes(s string) bool {
	for pair := range strings.SplitSeq(s, ",") {
		if !strings.Contains(pair, "=") {
			return false
		}
	}
	return true
}

// sampler returns the sampler that OTEL_TRACES_SAMPLER and its argument configure. The default is the default of the
// specification: the client's trace decides, and a review without one is traced. Users who configure a collector expect
// to see traces. If there are too many, they can set a ratio. Spans that do not fit into the queue are dropped, and
// reviews do not wait for them.
func (e *environment) sampler() sdktrace.Sampler {
	switch name := e.value("OTEL_TRACES_SAMPLER"); name {
	case "", "parentbased_always_on":
	case "parentbased_always_off":
		return sdktrace.ParentBased(sdktrace.NeverSample())
	case "parentbased_traceidratio":
		return sdktrace.ParentBased(sdktrace.TraceIDRatioBased(e.ratio()))
	case "always_on":
		return sdktrace.AlwaysSample()
	case "traceidratio":
		return sdktrace.TraceIDRatioBased(e.ratio())
	default:
		e.reject("OTEL_TRACES_SAMPLER", "write always_on, always_off, traceidratio, or one of them with parentbased_ before "+
			"it")
	}
	return sdktrace.ParentBased(sdktrace.AlwaysSample())
}

// ratio returns the ratio of traces to begin, which is 1 if the variable is not set.
func (e *environment) ratio() float64 {
	const name = "OTEL_TRACES_SAMPLER_ARG"
	if e.value(name) == "" {
		return 1
	}
	r, err := strconv.ParseFloat(e.value(name), 64)
	if err != nil || !(r >= 0 && r <= 1) { // this also excludes NaN
		e.reject(name, "write a number from 0 to 1")
	}
	return r
}
