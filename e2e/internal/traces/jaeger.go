// Package traces holds what Evergate shows of itself in a real Jaeger: that reviews are found there, in the trace of
// their client, with what they were about and where their time went; and that no collector, whatever state it is in,
// changes what reviews are answered.
package traces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/evergate/evergate/e2e/internal/controlplane"
)

// Jaeger is one running Jaeger, with its data in memory.
type Jaeger struct {
	GRPC string // URL that takes OTLP over gRPC
	HTTP string // URL that takes OTLP over HTTP

	client       *http.Client
	query, admin string
	cmd          *exec.Cmd
	ended        chan struct{}
}

// StartJaeger runs the binary on loopback until ctx ends, and returns when it takes spans and answers questions. Its
// log goes to the file log.
func StartJaeger(ctx context.Context, binary, log string) (*Jaeger, error) {
	ports, err := controlplane.FreePorts(ctx, 7) // one for each of the flags below
	if err != nil {
		return nil, err
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the process has a descriptor of its own
	j := &Jaeger{
		GRPC: "http://" + ports[0], HTTP: "http://" + ports[1], query: "http://" + ports[2], admin: "http://" + ports[3],
		client: http.DefaultClient, ended: make(chan struct{}),
		cmd: exec.CommandContext(ctx, binary,
			"--collector.otlp.grpc.host-port="+ports[0], "--collector.otlp.http.host-port="+ports[1],
			"--query.http-server.host-port="+ports[2], "--admin.http.host-port="+ports[3],
			"--query.grpc-server.host-port="+ports[4], // no test calls these three, and Jaeger listens on all
			"--collector.grpc-server.host-port="+ports[5], "--collector.http-server.host-port="+ports[6]),
	}
	j.cmd.Env = []string{"SPAN_STORAGE_TYPE=memory", "OTEL_TRACES_SAMPLER=always_off"}
	j.cmd.Stdout, j.cmd.Stderr = out, out
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = j.cmd.Wait() // it ends by being killed
		close(j.ended)
	}()
	err = until(ctx, func() error { return j.get(ctx, j.admin, nil, new(any)) })
	if err != nil {
		return nil, fmt.Errorf("start Jaeger: %w", err)
	}
	return j, nil
}

// Reach returns a Jaeger that another process runs, whose query API is at the URL query. Only queries may be sent to
// it.
func Reach(client *http.Client, query string) *Jaeger { return &Jaeger{client: client, query: query} }

// Wait returns when the process has ended, which it does when the context of StartJaeger ends.
func (j *Jaeger) Wait() { <-j.ended }

// Trace is what Jaeger's query API says of a trace.
type Trace struct {
	TraceID   string
	Spans     []Span
	Processes map[string]struct {
		ServiceName string
		Tags        []Tag
	}
}

// Span is a part of a Trace.
type Span struct {
	SpanID        string
	OperationName string
	References    []struct{ RefType, TraceID, SpanID string }
	StartTime     int64 // µs since 1970
	Duration      int64 // µs
	Tags          []Tag
	ProcessID     string
}

// Tag is an attribute of a span, of its process, or of an event.
type Tag struct {
	Key   string
	Value any
}

// Trace returns a trace by its id.
func (j *Jaeger) Trace(ctx context.Context, id string) (*Trace, error) {
	found, err := j.ask(ctx, "/api/traces/"+id, nil)
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// Find returns the traces with spans of a service that a search finds: minDuration, tags and what else the search form
// has. Nothing found is an error.
func (j *Jaeger) Find(ctx context.Context, service string, search url.Values) ([]Trace, error) {
	search.Set("service", service)
	search.Set("limit", "1000") // of all that a test makes
	return j.ask(ctx, "/api/traces", search)
}

func (j *Jaeger) ask(ctx context.Context, path string, query url.Values) ([]Trace, error) {
	var answer struct{ Data []Trace }
	if err := j.get(ctx, j.query+path, query, &answer); err != nil {
		return nil, err
	}
	if len(answer.Data) == 0 {
		return nil, errors.New("no trace was found")
	}
	return answer.Data, nil
}

// Span returns the span that match accepts; nil for none.
func (t *Trace) Span(match func(*Span) bool) *Span {
	for i := range t.Spans {
		if match(&t.Spans[i]) {
			return &t.Spans[i]
		}
	}
	return nil
}

// Children returns the spans right beneath one.
func (t *Trace) Children(of *Span) []*Span {
	var children []*Span
	for i := range t.Spans {
		if t.Spans[i].Parent() == of.SpanID {
			children = append(children, &t.Spans[i])
		}
	}
	return children
}

// Service is the service that made a span.
func (t *Trace) Service(s *Span) string { return t.Processes[s.ProcessID].ServiceName }

// Resource returns an attribute of the service that made a span, as text; empty for none.
func (t *Trace) Resource(s *Span, key string) string {
	return value(t.Processes[s.ProcessID].Tags, key)
}

// Parent returns the id of the span that this one is beneath; empty for none.
func (s *Span) Parent() string {
	for _, ref := range s.References {
		if ref.RefType == "CHILD_OF" {
			return ref.SpanID
		}
	}
	return ""
}

// End is when the span ended, in µs since 1970.
func (s *Span) End() int64 { return s.StartTime + s.Duration }

// Tag returns the value of an attribute as text; empty for none.
func (s *Span) Tag(key string) string { return value(s.Tags, key) }

func value(tags []Tag, key string) string {
	for _, tag := range tags {
		if tag.Key == key {
			return fmt.Sprint(tag.Value)
		}
	}
	return ""
}

func (j *Jaeger) get(ctx context.Context, address string, query url.Values, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := j.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %.200s", address, resp.Status, body)
	}
	return json.Unmarshal(body, into)
}

// traceDeadline is how long tests wait for anything that another process does. It takes milliseconds, or the few
// seconds between two exports of the API server; the rest is for a machine that has other things to do.
const traceDeadline = 2 * time.Minute

// until asks again and again, until there is no error or the deadline is over. Spans are stored some time after they
// were taken.
func until(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, traceDeadline)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", traceDeadline, err)
		}
	}
}
