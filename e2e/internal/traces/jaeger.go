// Package traces tests Evergate's traces with a real Jaeger. Reviews are found in the trace of their client, with their
// subject and the duration of their stages. And no collector, whatever state it is in, changes the responses to
// reviews.
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

// Jaeger is a running Jaeger, with its data in memory.
type Jaeger struct {
	GRPC string // URL that accepts OTLP over gRPC
	HTTP string // URL that accepts OTLP over HTTP

	client       *http.Client
	query, admin string
	cmd          *exec.Cmd
	ended        chan struct{}
}

// StartJaeger runs the binary on loopback until ctx ends, and returns when it accepts spans and queries. It writes its
// log to the file log.
func StartJaeger(ctx context.Context, binary, log string) (*Jaeger, error) {
	ports, err := controlplane.FreePorts(ctx, 7) // one for each of the flags below
	if err != nil {
		return nil, err
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the process has its own descriptor
	j := &Jaeger{
		GRPC: "http://" + ports[0], HTTP: "http://" + ports[1], query: "http://" + ports[2], admin: "http://" + ports[3],
		client: http.DefaultClient, ended: make(chan struct{}),
		cmd: exec.CommandContext(ctx, binary,
			"--collector.otlp.grpc.host-port="+ports[0], "--collector.otlp.http.host-port="+ports[1],
			"--query.http-server.host-port="+ports[2], "--admin.http.host-port="+ports[3],
			"--query.grpc-server.host-port="+ports[4], // tests do not use these three, but Jaeger listens on all
			"--collector.grpc-server.host-port="+ports[5], "--collector.http-server.host-port="+ports[6]),
	}
	j.cmd.Env = []string{"SPAN_STORAGE_TYPE=memory", "OTEL_TRACES_SAMPLER=always_off"}
	j.cmd.Stdout, j.cmd.Stderr = out, out
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = j.cmd.Wait() // it is always killed
		close(j.ended)
	}()
	err = until(ctx, func() error { return j.get(ctx, j.admin, nil, new(any)) })
	if err != nil {
		return nil, fmt.Errorf("start Jaeger: %w", err)
	}
	return j, nil
}

// Reach returns a Jaeger that another process runs, with its query API at the URL query. Only queries may be sent to
// it.
func Reach(client *http.Client, query string) *Jaeger { return &Jaeger{client: client, query: query} }

// Wait returns when the process has ended, which it does when the context of StartJaeger ends.
func (j *Jaeger) Wait() { <-j.ended }

// Trace is a trace in the format of Jaeger's query API.
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

// Trace returns a trace by its ID.
func (j *Jaeger) Trace(ctx context.Context, id string) (*Trace, error) {
	found, err := j.ask(ctx, "/api/traces/"+id, nil)
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// Find returns the traces with spans of a service that match a search by minDuration, tags and other fields of the
// search form. It returns an error if there is no match.
func (j *Jaeger) Find(ctx context.Context, service string, search url.Values) ([]Trace, error) {
	search.Set("service", service)
	search.Set("limit", "1000") // more than any test creates
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

// Span returns the span that match accepts, or nil if there is none.
func (t *Trace) Span(match func(*Span) bool) *Span {
	for i := range t.Spans {
		if match(&t.Spans[i]) {
			return &t.Spans[i]
		}
	}
	return nil
}

// Children returns the direct children of a span.
func (t *Trace) Children(of *Span) []*Span {
	var children []*Span
	for i := range t.Spans {
		if t.Spans[i].Parent() == of.SpanID {
			children = append(children, &t.Spans[i])
		}
	}
	return children
}

// Service returns the service that created a span.
func (t *Trace) Service(s *Span) string { return t.Processes[s.ProcessID].ServiceName }

// Resource returns an attribute of the service that created a span, as text, or "" if it is absent.
func (t *Trace) Resource(s *Span, key string) string {
	return value(t.Processes[s.ProcessID].Tags, key)
}

// Parent returns the ID of a span's parent, or "" if it does not have one.
func (s *Span) Parent() string {
	for _, ref := range s.References {
		if ref.RefType == "CHILD_OF" {
			return ref.SpanID
		}
	}
	return ""
}

// End returns when the span ended, in µs since 1970.
func (s *Span) End() int64 { return s.StartTime + s.Duration }

// Tag returns the value of an attribute as text, or "" if it is absent.
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

// traceDeadline is how long tests wait for an action of another process. Such an action takes milliseconds, or the few
// seconds between two exports of the API server. The rest is a margin for a busy machine.
const traceDeadline = 2 * time.Minute

// until calls ask repeatedly until it succeeds or the deadline passes. Spans are stored some time after they were
// accepted.
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
