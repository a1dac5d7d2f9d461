//go:build unix

package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/evergate/evergate/cmd/internal/cli"
)

// The last spans of a process reach the collector before the process ends.
func TestServeIsTraced(t *testing.T) {
	var mu sync.Mutex
	spans := map[string]*tracepb.Span{} // by name
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collectorpb.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil {
			t.Errorf("%v %q", err, body)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range request.GetResourceSpans() {
			for _, s := range resource.GetScopeSpans()[0].GetSpans() {
				spans[s.GetName()] = s
			}
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // only the final flush exports spans

	p, address, config := startDev(t)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/mutate/pods",
		bytes.NewReader(exampleReview(t, "pod")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	p.terminate(t)

	mu.Lock()
	defer mu.Unlock()
	review := spans["POST /mutate/pods"]
	if got := review.GetParentSpanId(); string(got) != "\xb7\xad\x6b\x71\x69\x20\x33\x31" {
		t.Errorf("the parent of the review is %x", got)
	}
	for _, name := range []string{"phase listening", "phase ready", "phase draining", "phase stopping", "decode",
		"decide", "encode"} {
		if spans[name] == nil {
			t.Errorf("there is no span %q", name)
		}
	}
}

// An invalid value is reported at startup.
func TestServeRejectsBadTracing(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")
	var stderr bytes.Buffer
	code := Run(t.Context(), []string{"serve", "--dev"}, nil, nil, io.Discard, &stderr)
	want := `evergate: the environment variable OTEL_EXPORTER_OTLP_ENDPOINT is "collector:4317": ` +
		"write a URL, such as http://collector:4318\n"
	if code != cli.Usage || stderr.String() != want {
		t.Errorf("exit code %d, and\n%s\nwant %d and\n%s", code, stderr.String(), cli.Usage, want)
	}
}

// SIGUSR1 switches a running process to debug, and then back.
func TestLogLevelChangesAtRunTime(t *testing.T) {
	p, address, config := startDev(t)
	log := bufio.NewScanner(p.log)
	next := func(msg string) map[string]any {
		t.Helper()
		for log.Scan() {
			var line map[string]any
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatalf("%v: %s", err, log.Bytes())
			}
			if line["msg"] == msg {
				return line
			}
		}
		t.Fatalf("there is no line %q", msg)
		return nil
	}
	for _, change := range []struct{ from, to string }{{"INFO", "DEBUG"}, {"DEBUG", "INFO"}} {
		if err := p.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		if line := next("log level changed"); line["from"] != change.from || line["to"] != change.to {
			t.Errorf("the line is %v, want %v", line, change)
		}
		if change.to == "DEBUG" {
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
			allowed := bytes.Replace(exampleReview(t, "service"), []byte(`"CREATE"`), []byte(`"CONNECT"`), 1) // no object
			resp, err := client.Post("https://"+address+"/validate/services", "application/json", bytes.NewReader(allowed))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			next("allowed") // logged at level debug
		}
	}
	p.terminate(t)
}

func TestVerbosity(t *testing.T) {
	for configured, want := range map[slog.Level][]string{
		slog.LevelDebug: {"DEBUG", "INFO", "DEBUG"},
		slog.LevelInfo:  {"INFO", "DEBUG", "INFO"},
		slog.LevelError: {"ERROR", "DEBUG", "ERROR"},
	} {
		v := &verbosity{configured: configured}
		v.Set(configured)
		got := []string{v.Level().String()}
		for range 2 {
			v.toggle()
			got = append(got, v.Level().String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("--log-level %s: %s", strings.ToLower(configured.String()), cmp.Diff(want, got))
		}
	}
}
