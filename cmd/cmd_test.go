package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/lifecycle/settings"
)

// TestFlagsAndVariables checks the rules for the flags of every command, including future ones.
func TestFlagsAndVariables(t *testing.T) {
	eachFlag(newRootCommand(nil), func(f *pflag.Flag) {
		if f.Name != strings.ToLower(f.Name) || strings.ContainsAny(f.Name, "_.") {
			t.Errorf("--%s is not kebab-case", f.Name)
		}
		if settings.OfService(settings.Variable(f.Name)) {
			t.Errorf("--%s: Kubernetes itself sets %s for a Service called evergate", f.Name, settings.Variable(f.Name))
		}
		if !strings.Contains(f.Usage, settings.Variable(f.Name)) {
			t.Errorf("--%s: the help does not contain %s", f.Name, settings.Variable(f.Name))
		}
		if f.Value.Type() == "stringSlice" {
			t.Errorf("--%s: a list must be a stringArray, because a value may contain a comma", f.Name)
		}
	})
}

func TestVariablesOfServices(t *testing.T) {
	for name, want := range map[string]bool{
		"EVERGATE_SERVICE_HOST":            true,
		"EVERGATE_SERVICE_PORT":            true,
		"EVERGATE_SERVICE_PORT_HTTPS":      true,
		"EVERGATE_PORT":                    true,
		"EVERGATE_PORT_443_TCP":            true,
		"EVERGATE_PORT_443_TCP_ADDR":       true,
		"EVERGATE_WEBHOOK_OPS_PORT_80_UDP": true,
		"EVERGATE_PORTAL":                  false,
		"EVERGATE_POLICY":                  false,
		"EVERGATE_PORT_NAME":               false,
	} {
		if got := settings.OfService(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"version", "-o", "json"}, nil, nil, &stdout, &stderr); code != 0 {
		t.Fatal(code, stderr.String())
	}
	var got cli.Version
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || got.Version == "" || got.Go == "" {
		t.Errorf("%v: %s", err, stdout.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestReportThatCannotBeWritten checks that a command fails if its report cannot be written.
func TestReportThatCannotBeWritten(t *testing.T) {
	t.Chdir("testdata")
	var stderr bytes.Buffer
	args := []string{"review", "--policy", "policy.yaml", "-f", "services.yaml"}
	if code := Run(context.Background(), args, nil, nil, full{}, &stderr); code != cli.Usage {
		t.Errorf("exit code %d", code)
	}
	if want := "evergate: cannot write the report: no space left on device\n"; stderr.String() != want {
		t.Errorf("%q, want %q", stderr.String(), want)
	}
}
