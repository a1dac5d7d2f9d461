package telemetry_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/evergate/evergate/internal/logtest"
	"github.com/evergate/evergate/telemetry"
)

// grpcCollector is a collector over gRPC. It counts the spans that it receives, and answer creates its responses.
type grpcCollector struct {
	collectorpb.UnimplementedTraceServiceServer
	answer func(context.Context) error
	spans  atomic.Int64
}

func (c *grpcCollector) Export(ctx context.Context,
	r *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	if c.answer != nil {
		if err := c.answer(ctx); err != nil {
			return nil, err
		}
	}
	c.spans.Add(spansIn(r))
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func spansIn(r *collectorpb.ExportTraceServiceRequest) (n int64) {
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			n += int64(len(scope.GetSpans()))
		}
	}
	return n
}

func (c *grpcCollector) start(t *testing.T) string {
	t.Helper()
	l := listen(t)
	s := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(s, c)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return "http://" + l.Addr().String()
}

// resourceOf returns the resource attributes in the spans that a collector over HTTP gets from a process with these
// additional environment variables.
func resourceOf(t *testing.T, variables ...string) map[string]string {
	t.Helper()
	var got collectorpb.ExportTraceServiceRequest
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Authorization") != "Bearer x" ||
			proto.Unmarshal(body, &got) != nil {
			t.Errorf("%s with %v: %v %q", r.URL, r.Header, err, body)
		}
	}))
	defer s.Close()
	tr, _, err := fromEnvironment(t, append(variables, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL,
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20x")...)
	must(t, err)
	traced{Tracing: tr}.review()
	if err := tr.Stop(t.Context()); err != nil || spansIn(&got) != 2 {
		t.Fatalf("%d spans arrived; Stop returns %v", spansIn(&got), err)
	}
	attrs := map[string]string{}
	for _, a := range got.GetResourceSpans()[0].GetResource().GetAttributes() {
		attrs[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return attrs
}

// Spans contain the replica that created them: the Pod, from the variables of the downward API, or otherwise a random
// UUID.
func TestResource(t *testing.T) {
	const uid = "275ecb36-5aa8-4c2a-9c47-d8bb681b9aff"
	pod := []string{"K8S_NAMESPACE_NAME=evergate-system", "K8S_NODE_NAME=node-1", "K8S_POD_NAME=evergate-0"}
	for name, tt := range map[string]struct {
		variables []string
		want      map[string]string
	}{
		"of a Pod": {append(pod, "K8S_POD_UID="+uid), map[string]string{
			"service.name": "evergate", "service.version": "v1.2.3", "service.instance.id": uid, "telemetry.sdk.language": "go",
			"k8s.namespace.name": "evergate-system", "k8s.node.name": "node-1", "k8s.pod.name": "evergate-0", "k8s.pod.uid": uid,
		}},
		"without its UID": {pod, map[string]string{"service.instance.id": "evergate-0", "k8s.pod.name": "evergate-0"}},
		"as the operator says": {
			append(pod, "K8S_POD_UID="+uid, "OTEL_SERVICE_NAME=mine",
				"OTEL_RESOURCE_ATTRIBUTES=service.instance.id=a,service.version=mine,k8s.cluster.name=prod"),
			map[string]string{
				"service.name": "mine", "service.version": "mine", "service.instance.id": "a",
				"k8s.cluster.name": "prod", "k8s.pod.uid": uid,
			},
		},
	} {
		got := resourceOf(t, tt.variables...)
		for k, want := range tt.want {
			if got[k] != want {
				t.Errorf("%s: %s is %q, want %q", name, k, got[k], want)
			}
		}
	}
	first, second := resourceOf(t), resourceOf(t)
	const key = "service.instance.id"
	if _, err := uuid.Parse(first[key]); err != nil || first[key] == second[key] {
		t.Errorf("without a Pod, two processes are %q and %q: %v", first[key], second[key], err)
	}
	for k := range first {
		if strings.HasPrefix(k, "k8s.") {
			t.Errorf("without a Pod there is %s", k)
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// Over gRPC, spans arrive at a healthy collector. TestResource uses HTTP.
func TestCollectors(t *testing.T) {
	c := &grpcCollector{}
	tr, _, err := fromEnvironment(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.start(t), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	must(t, err)
	traced{Tracing: tr}.review()
	if err := tr.Stop(t.Context()); err != nil || c.spans.Load() != 2 {
		t.Errorf("%d spans arrived; Stop returns %v", c.spans.Load(), err)
	}
}

// loss is a log that signals when spans are lost.
type loss struct {
	slog.Handler
	logged chan struct{}
}

func (l loss) WithAttrs(attrs []slog.Attr) slog.Handler {
	return loss{l.Handler.WithAttrs(attrs), l.logged}
}

func (l loss) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "spans were dropped" {
		l.logged <- struct{}{}
	}
	return l.Handler.Handle(ctx, r)
}

// With the worst collectors, reviews continue, the process ends in time, and every span is counted.
func TestBadCollectors(t *testing.T) {
	dead := func(t *testing.T) string {
		l := listen(t)
		l.Close()
		return "http://" + l.Addr().String()
	}
	// the kernel accepts connections, and no process reads
	silent := func(t *testing.T) string { return "http://" + listen(t).Addr().String() }
	untrusted := func(t *testing.T) string {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	}
	dying := func(t *testing.T) string { // permanently, during the first export
		l := listen(t)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				_, _ = conn.Read(make([]byte, 10))
				_ = l.Close()
				_ = conn.Close()
			}
		}()
		return "http://" + l.Addr().String()
	}
	for name, start := range map[string]func(*testing.T) string{"dead": dead, "silent": silent, "untrusted": untrusted,
		"dying": dying} {
		for _, protocol := range []string{"grpc", "http/protobuf"} {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", start(t))
				t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
				t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
				t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "300") // for all attempts together
				t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
				registry, logged := prometheus.NewRegistry(), make(chan struct{}, 1)
				log, lines := logtest.New()
				log = slog.New(loss{log.Handler(), logged})
				tr, err := telemetry.NewMetrics(registry).TracingFromEnvironment(t.Context(), "", log)
				must(t, err)
				tracing := traced{Tracing: tr, registry: registry}
				for range 10 {
					tracing.review()
				}
				<-logged
				for range 10 {
					tracing.review()
				}
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				_ = tr.Stop(ctx) // its error is about spans that were not tried by then
				got := tracing.became(t)
				if got["exported"] != 0 || got["export_failed"]+got["stopping"] != 40 {
					t.Errorf("of 40 spans became %v", got)
				}
				if text := strings.Join(lines.Take(), "\n"); strings.Count(text, "spans were dropped") != 1 {
					t.Errorf("the log is\n%s", text)
				}
			})
		}
	}
}
