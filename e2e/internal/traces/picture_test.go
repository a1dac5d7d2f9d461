package traces

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// TestTracePicture records the trace of a Pod that a rule denies. It writes the trace to trace.json in the directory
// EVERGATE_PICTURES, and is skipped without this variable. It collects the spans itself, so it does not need Jaeger.
func TestTracePicture(t *testing.T) {
	directory := os.Getenv("EVERGATE_PICTURES")
	if directory == "" {
		t.Skip("this is a recording: run make record-pictures")
	}
	c := new(spanCollector)
	j := c.serve(t)
	client, kubectl := startAPIServer(t, j)
	w := serve(t, append(exported("grpc", j.GRPC), "OTEL_BSP_SCHEDULE_DELAY=100"))
	w.install(t, client)
	denied := func() string {
		return kubectl(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "team"},
			"spec": {"containers": [{"name": "main", "image": "nginx:latest"}]}}`, "create", "-f", "-", "-v=8")
	}
	must(t, until(t.Context(), func() error { // the API server notices its own objects by watching them
		if said := denied(); !strings.Contains(said, "no-latest/images.deniedTags") {
			return errors.New("the Pod is not denied: " + said)
		}
		return nil
	}))
	id := auditID(t, denied()) // with connections that are open
	must(t, until(t.Context(), func() error {
		trace := c.trace(id)
		_, rewriting := trace.call("mutating")
		_, review := trace.call("validating")
		if rewriting == nil || review == nil || review.Tag("evergate.rules") != `["no-latest/images.deniedTags"]` {
			return errors.New("the trace is not complete:\n" + trace.tree())
		}
		return trace.write(filepath.Join(directory, "trace.json"))
	}))
	w.end(t)
}

// spanCollector keeps the spans that it receives, in the form of Jaeger.
type spanCollector struct {
	collectorpb.UnimplementedTraceServiceServer

	mu     sync.Mutex
	traces map[string]*Trace
}

// serve returns the address of the collector.
func (c *spanCollector) serve(t *testing.T) *Jaeger {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(l) }() // ends with Stop
	t.Cleanup(server.Stop)
	return &Jaeger{GRPC: "http://" + l.Addr().String()}
}

// Export receives spans.
func (c *spanCollector) Export(_ context.Context, r *collectorpb.ExportTraceServiceRequest) (
	*collectorpb.ExportTraceServiceResponse, error,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.ResourceSpans {
		service := value(tags(resource.GetResource().GetAttributes()), "service.name")
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				c.add(service, s)
			}
		}
	}
	return new(collectorpb.ExportTraceServiceResponse), nil
}

func (c *spanCollector) add(service string, s *tracepb.Span) {
	id := hex.EncodeToString(s.TraceId)
	if c.traces == nil {
		c.traces = map[string]*Trace{}
	}
	trace := c.traces[id]
	if trace == nil {
		trace = &Trace{TraceID: id}
		trace.Processes = map[string]struct {
			ServiceName string
			Tags        []Tag
		}{}
		c.traces[id] = trace
	}
	process := trace.Processes[service]
	process.ServiceName = service
	trace.Processes[service] = process
	span := Span{
		SpanID: hex.EncodeToString(s.SpanId), OperationName: s.Name, ProcessID: service, Tags: tags(s.Attributes),
		StartTime: int64(s.StartTimeUnixNano / 1000), Duration: int64((s.EndTimeUnixNano - s.StartTimeUnixNano) / 1000),
	}
	if len(s.ParentSpanId) > 0 {
		span.References = append(span.References,
			struct{ RefType, TraceID, SpanID string }{"CHILD_OF", id, hex.EncodeToString(s.ParentSpanId)})
	}
	trace.Spans = append(trace.Spans, span)
}

// tags returns attributes in the form of Jaeger, which shows a list as JSON.
func tags(attributes []*commonpb.KeyValue) []Tag {
	var all []Tag
	for _, a := range attributes {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			all = append(all, Tag{a.Key, v.StringValue})
		case *commonpb.AnyValue_ArrayValue:
			var list []string
			for _, element := range v.ArrayValue.Values {
				list = append(list, element.GetStringValue())
			}
			text, err := json.Marshal(list)
			if err != nil {
				panic(err) // a list of strings can always be marshaled
			}
			all = append(all, Tag{a.Key, string(text)})
		}
	}
	return all
}

// trace returns a copy of the trace with a span that has the audit ID.
func (c *spanCollector) trace(auditID string) *Trace {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, trace := range c.traces {
		if trace.Span(func(s *Span) bool { return s.Tag("audit-id") == auditID }) != nil {
			return &Trace{TraceID: trace.TraceID, Spans: slices.Clone(trace.Spans), Processes: maps.Clone(trace.Processes)}
		}
	}
	return new(Trace)
}

// write writes the trace to a file for docs/pictures, with one line for each span.
func (t *Trace) write(file string) error {
	var b strings.Builder
	for i, r := range t.rows() {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		b.WriteString(map[bool]string{true: "[\n", false: ",\n"}[i == 0] + string(line))
	}
	return os.WriteFile(file, []byte(b.String()+"\n]\n"), 0o644)
}
