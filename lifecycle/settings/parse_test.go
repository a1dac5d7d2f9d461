package settings_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/lifecycle/settings"
)

const unknown = settings.Unknown

func parse(c settings.Container) (*settings.Parsed, []string) {
	c.Args = append([]string{"--tls-cert=tls.crt", "--tls-key=tls.key"}, c.Args...)
	p, errs := c.Parse()
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return p, texts
}

// The command line overrides the environment, and the environment overrides the default.
func TestPrecedence(t *testing.T) {
	p, errs := parse(settings.Container{
		Args: []string{"--drain-delay=5s", "--client-ca-file", "ca.crt"},
		Env: settings.Environment{"EVERGATE_DRAIN_DELAY": "7s", "EVERGATE_DRAIN_TIMEOUT": "20s",
			"EVERGATE_SHUTDOWN_TIMEOUT": "", "EVERGATE_CLIENT_NAME": `a,"b,c"`},
	})
	if errs != nil {
		t.Fatal(errs)
	}
	got := []time.Duration{p.DrainDelay, p.DrainTimeout, p.ShutdownTimeout}
	if diff := cmp.Diff([]time.Duration{5 * time.Second, 20 * time.Second, 15 * time.Second}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b,c"}, p.ClientNames); diff != "" {
		t.Error(diff)
	}
}

// Every invalid setting is reported, but not the errors that it would cause.
func TestAllAtOnce(t *testing.T) {
	_, errs := parse(settings.Container{
		Args: []string{"--drain-dely=10s", "--polcy", "x", "--drain-timeout=30", "--drain-delay=40s", "--max-connections=0"},
		Env:  settings.Environment{"EVERGATE_LOG_FORMAT": "xml", "EVERGATE_MAX_IN_FLIGHT": "many"},
	})
	want := []string{
		"unknown flag: --drain-dely", "unknown flag: --polcy",
		`invalid argument "30" for "--drain-timeout" flag: time: missing unit in duration "30"`,
		`the environment variable EVERGATE_MAX_IN_FLIGHT: "many" is not a int`,
		`the environment variable EVERGATE_LOG_FORMAT: "xml" is not a format: write json or text`,
		"--max-connections is 0: write a limit, because each connection takes memory",
	}
	if diff := cmp.Diff(want, errs); diff != "" {
		t.Error(diff)
	}
}

// Unknown values are not reported as errors, and neither are settings that depend on them.
func TestUnknown(t *testing.T) {
	late := "--drain-delay=40s" // longer than --drain-timeout by default
	rejected := []string{"--drain-timeout 30s is shorter than --drain-delay 40s, which is a part of it"}
	env := func(name, value string) settings.Environment { return settings.Environment{name: value} }
	for _, tt := range []struct {
		name      string
		container settings.Container
		want      []string
	}{
		{"all is known", settings.Container{Args: []string{late}}, rejected},
		{"a flag", settings.Container{Args: []string{late, "--drain-timeout=" + unknown}}, nil},
		{"another flag", settings.Container{Args: []string{late, "--policy=" + unknown}}, rejected},
		{"an argument", settings.Container{Args: []string{late, unknown}}, nil},
		{"the name of a flag", settings.Container{Args: []string{late, "--" + unknown + "=1m"}}, nil},
		{"a variable", settings.Container{Args: []string{late}, Env: env("EVERGATE_DRAIN_TIMEOUT", unknown)}, nil},
		{"every variable", settings.Container{Args: []string{late}, Hidden: []string{""}}, nil},
		{"variables of another prefix", settings.Container{Args: []string{late}, Hidden: []string{"DB_"}}, rejected},
		{"every variable but one", settings.Container{Args: []string{late}, Hidden: []string{"EVER"},
			Env: env("EVERGATE_DRAIN_TIMEOUT", "30s")}, rejected},
		{"the host of an endpoint", settings.Container{Env: settings.Environment{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + unknown + ":4317", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s",
			"OTEL_RESOURCE_ATTRIBUTES": "pod=" + unknown + ",node", "OTEL_TRACES_SAMPLER": unknown,
		}}, []string{`the environment variable OTEL_EXPORTER_OTLP_TIMEOUT is "10s": write milliseconds`,
			`the environment variable OTEL_RESOURCE_ATTRIBUTES is "pod=unknown,node": write name=value, separated by commas`}},
		{"whether there is an endpoint", settings.Container{Env: env("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
			Hidden: []string{""}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got := parse(tt.container)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// --dev listens only on this machine and stops at once. Flags and variables override each of its defaults.
func TestDev(t *testing.T) {
	dev := func(args ...string) settings.Serve {
		p, errs := settings.Container{Args: append([]string{"--dev"}, args...)}.Parse()
		if errs != nil {
			t.Fatal(errs)
		}
		return p.Serve
	}
	for _, test := range []struct{ flag, value, want, set string }{
		{"listen", dev().Listen, "127.0.0.1:8443", dev("--listen=:1").Listen},
		{"ops-listen", dev().OpsListen, "127.0.0.1:8080", dev("--ops-listen=:1").OpsListen},
		{"drain-delay", dev().DrainDelay.String(), "0s", dev("--drain-delay=3s").DrainDelay.String()},
		{"drain-timeout", dev().DrainTimeout.String(), "1s", dev("--drain-timeout=3s").DrainTimeout.String()},
	} {
		if test.value != test.want || test.set != ":1" && test.set != "3s" {
			t.Errorf("--%s is %s, want %s; if set: %s", test.flag, test.value, test.want, test.set)
		}
	}
}
