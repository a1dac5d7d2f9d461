package telemetry_test

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/telemetry"
)

// fromEnvironment returns tracing that these variables configure, and its log.
func fromEnvironment(t *testing.T, variables ...string) (*telemetry.Tracing, string, error) {
	t.Helper()
	for _, v := range os.Environ() { // variables of the developer or of the gate
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") || strings.HasPrefix(name, "K8S_") {
			t.Setenv(name, "")
		}
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	var log bytes.Buffer
	tr, err := telemetry.NewMetrics(prometheus.NewRegistry()).TracingFromEnvironment(t.Context(), "v1.2.3",
		slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { _ = tr.Stop(t.Context()) })
	return tr, log.String(), err
}

const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"

// Without an endpoint, tracing is off, and other variables do not matter. They may be set for all Pods of a cluster.
func TestTracingIsOff(t *testing.T) {
	for _, variables := range [][]string{
		nil,
		{"OTEL_EXPORTER_OTLP_ENDPOINT= "},
		{"OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_SAMPLER=jaeger_remote", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"},
		{endpoint, "OTEL_TRACES_EXPORTER=none"},
		{endpoint, "OTEL_SDK_DISABLED=TRUE", "OTEL_TRACES_SAMPLER=x"},
		{endpoint, "OTEL_TRACES_SAMPLER=always_off"},
	} {
		t.Run(strings.Join(variables, " "), func(t *testing.T) {
			if tr, log, err := fromEnvironment(t, variables...); tr != nil || log != "" || err != nil {
				t.Errorf("got %v, %v and the log %q", tr, err, log)
			}
			if err := telemetry.CheckEnvironment(os.Getenv); err != nil {
				t.Errorf("CheckEnvironment returns %v", err)
			}
		})
	}
}

func TestTracingIsOn(t *testing.T) {
	for _, tt := range []struct {
		variables []string
		want      string
	}{
		{[]string{endpoint}, `endpoint=http://127.0.0.1:1 protocol=http/protobuf sampler=ParentBased{root:AlwaysOnSampler,`},
		{
			[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://jane:s3cret@127.0.0.1:1/x",
				"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc"},
			`endpoint=https://jane:xxxxx@127.0.0.1:1/x protocol=grpc sampler=ParentBased{root:AlwaysOnSampler,`,
		},
		{[]string{endpoint, "OTEL_TRACES_SAMPLER=parentbased_always_off"}, `sampler=ParentBased{root:AlwaysOffSampler,`},
		{[]string{endpoint, "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.25"},
			`sampler=ParentBased{root:TraceIDRatioBased{0.25},`},
		{[]string{endpoint, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0"}, `sampler=TraceIDRatioBased{0}`},
		{[]string{endpoint, "OTEL_TRACES_SAMPLER=always_on"}, `sampler=AlwaysOnSampler`},
		// A file may be absent for some time, and must not prevent the start.
		{[]string{endpoint, "OTEL_EXPORTER_OTLP_CERTIFICATE=/absent/ca.crt"},
			`level=ERROR msg="read tls ca cert file" component=tracing err="open /absent/ca.crt: `},
	} {
		t.Run(strings.Join(tt.variables, " "), func(t *testing.T) {
			if tr, log, err := fromEnvironment(t, tt.variables...); tr == nil || err != nil || !strings.Contains(log, tt.want) {
				t.Errorf("got %v, %v and a log without %s\n%s", tr, err, tt.want, log)
			}
		})
	}
}

// The error lists all invalid variables together, and does not contain any token.
func TestBadVariables(t *testing.T) {
	for _, tt := range []struct{ variable, want string }{
		{"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317", `is "collector:4317": write a URL, such as http://collector:4318`},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://", `is "http://": write a URL, such as http://collector:4318`},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://:4317", `is "http://:4317": write a URL, such as http://collector:4318`},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=http/json", `is "http/json": write grpc or http/protobuf`},
		{"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=zip", `is "zip": write gzip or none`},
		{"OTEL_EXPORTER_OTLP_HEADERS=Bearer s3cret", `cannot be read: write name=value, separated by commas`},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=s3cret%zz", `cannot be read: write name=value, separated by commas`},
		{"OTEL_EXPORTER_OTLP_TIMEOUT=10s", `is "10s": write milliseconds`},
		{"OTEL_EXPORTER_OTLP_INSECURE=yes", `is "yes": write true or false`},
		{"OTEL_TRACES_EXPORTER=zipkin", `is "zipkin": write otlp, or none`},
		{"OTEL_SDK_DISABLED=1", `is "1": write true or false`},
		{"OTEL_TRACES_SAMPLER=jaeger_remote", `is "jaeger_remote": write always_on, always_off, traceidratio, or one of ` +
			`them with parentbased_ before it`},
		{"OTEL_BSP_MAX_QUEUE_SIZE=0", `is "0": write a number above 0`},
		{"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT=x", `is "x": write a number above 0`},
		{"OTEL_RESOURCE_ATTRIBUTES=a=b,", `is "a=b,": write name=value, separated by commas`},
		{"OTEL_RESOURCE_ATTRIBUTES=x", `is "x": write name=value, separated by commas`},
	} {
		t.Run(tt.variable, func(t *testing.T) {
			_, _, err := fromEnvironment(t, endpoint, tt.variable)
			name, _, _ := strings.Cut(tt.variable, "=")
			if want := "the environment variable " + name + " " + tt.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			if checked := telemetry.CheckEnvironment(os.Getenv); err == nil || checked == nil || checked.Error() != err.Error() {
				t.Errorf("CheckEnvironment returns %v, and the start %v", checked, err)
			}
		})
	}
	for _, arg := range []string{"2", "-1", "NaN", "ten"} {
		_, _, err := fromEnvironment(t, endpoint, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG="+arg,
			"OTEL_BSP_EXPORT_TIMEOUT=x")
		want := `the environment variable OTEL_BSP_EXPORT_TIMEOUT is "x": write milliseconds` + "\n" +
			`the environment variable OTEL_TRACES_SAMPLER_ARG is "` + arg + `": write a number from 0 to 1`
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
