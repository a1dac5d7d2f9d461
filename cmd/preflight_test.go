package cmd

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/lifecycle/settings"
)

// TestSettingsOfContainers checks that evergate serve and the validation of a container return the same errors.
func TestSettingsOfContainers(t *testing.T) {
	certificate := []string{"--tls-cert=tls.crt", "--tls-key=tls.key"}
	endpoint := "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
	for _, tt := range []struct {
		args    []string
		environ []string
	}{
		{args: []string{"--policy=policy.yaml"}},
		{args: append(certificate, "--drain-dely=10s")},
		{args: append(certificate, "-x")},
		{args: append(certificate, "--=x")},
		{args: append(certificate, "now")},
		{args: append(certificate, "--policy=policy.yaml", "--require-policy", "true")},
		{args: append(certificate, "--drain-timeout=30")},
		{args: append(certificate, "--max-connections")},
		{args: append(certificate, "--log-level=loud")},
		{args: append(certificate, "--log-format=xml")},
		{args: append(certificate, "--tls-min-version=1.1", "--drain-readiness=maybe", "--max-connections=0")},
		{args: append(certificate, "--drain-delay=40s", "--max-in-flight=-1", "--startup-timeout=0s")},
		{args: append(certificate, "--dev")},
		{args: append(certificate, "--dev-ca=ca.crt")},
		{args: append(certificate, "--require-policy")},
		{args: append(certificate, "--client-name=apiserver")},
		{args: append(certificate, "--client-ca-file=ca.crt", "--client-name=")},
		{args: append(certificate, "--listen=localhost", "--ops-listen=:https")},
		{args: append(certificate, "--listen=0.0.0.0:8080")},
		{args: certificate, environ: []string{"EVERGATE_DRAIN_TIMEOUT=30", "EVERGATE_MAX_CONNECTIONS=many",
			"EVERGATE_CLIENT_NAME=\"a", "EVERGATE_REQUIRE_POLICY=perhaps"}},
		{args: certificate, environ: []string{"EVERGATE_LISTEN=:8080", "EVERGATE_SHUTDOWN_TIMEOUT=-1s"}},
		{args: certificate, environ: []string{endpoint, "OTEL_TRACES_SAMPLER=jaeger", "OTEL_EXPORTER_OTLP_TIMEOUT=10s",
			"OTEL_RESOURCE_ATTRIBUTES=x"}},
	} {
		t.Run(strings.Join(append(tt.args, tt.environ...), " "), func(t *testing.T) {
			for _, variable := range tt.environ { // package telemetry reads the variables of the process
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			var stderr bytes.Buffer
			code := Run(t.Context(), append([]string{"serve"}, tt.args...), tt.environ, nil, &stderr, &stderr)
			_, errs := settings.Container{Args: tt.args, Env: settings.NewEnvironment(tt.environ)}.Parse()
			var want bytes.Buffer
			if len(errs) > 0 {
				cli.Say(&want, errors.Join(errs...).Error())
			}
			// Errors on the command line contain hints that errors about a manifest do not contain.
			got := regexp.MustCompile(`: (see evergate serve --help|did you mean --[a-z-]+\?)`).ReplaceAllString(stderr.String(),
				"")
			if code != cli.Usage || got != want.String() {
				t.Errorf("serve ended with %d and\n%sbut the container has\n%s", code, got, want.String())
			}
		})
	}
}

// TestPreflightReady checks that preflight --ca-file succeeds only for a server that is ready and whose certificate has
// its name and the CA.
func TestPreflightReady(t *testing.T) {
	ready := http.StatusOK
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(ready)
		}
	}))
	defer server.Close()
	address, dir := server.Listener.Addr().String(), t.TempDir()
	ca, blank := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "blank.crt")
	cert, _ := certificate(t) // all servers of httptest have this certificate, for 127.0.0.1
	write(t, ca, cert)
	write(t, blank, nil)
	for _, tt := range []struct {
		connect, ca  string
		status, code int
		want         string
	}{
		{address, ca, http.StatusOK, cli.OK, address + " is ready\n"},
		{address, ca, http.StatusServiceUnavailable, cli.Usage, "/readyz answers 503 Service Unavailable\n"},
		{strings.Replace(address, "127.0.0.1", "localhost", 1), ca, http.StatusOK, cli.Usage, "certificate is valid for"},
		{address, blank, http.StatusOK, cli.Usage, "blank.crt contains no certificate\n"},
		{address, filepath.Join(dir, "none"), http.StatusOK, cli.Usage, "--ca-file: open "},
	} {
		var out bytes.Buffer
		ready = tt.status
		code := Run(t.Context(), []string{"preflight", "--connect=" + tt.connect, "--ca-file=" + tt.ca}, nil, nil, &out, &out)
		if code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s, %s, %d: code %d\n%swithout %q", tt.connect, tt.ca, tt.status, code, &out, tt.want)
		}
	}
}
