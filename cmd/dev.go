package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/certs"
	"github.com/evergate/evergate/lifecycle"
)

// Where --dev listens: on this machine only. Ports that need no privilege.
const (
	devListen    = "127.0.0.1:8443"
	devOpsListen = "127.0.0.1:8080"
)

// completeDev gives flags that were not set the values that suit a laptop.
func (f *serveFlags) completeDev(flags *pflag.FlagSet) {
	if !flags.Changed("listen") {
		f.listen = devListen
	}
	if !flags.Changed("ops-listen") {
		f.opsListen = devOpsListen
	}
	if !flags.Changed("drain-delay") {
		f.drainDelay = 0 // no endpoint has to propagate, and Ctrl-C should be quick
	}
	if !flags.Changed("drain-timeout") {
		f.drainTimeout = f.drainDelay + time.Second
	}
	if f.devCA == "" {
		f.devCA = filepath.Join(os.TempDir(), "evergate-dev-ca.crt")
	}
}

// prepareDev makes the development certificate, and prints what to try once the server is ready. Its CA is written when
// the ports are bound: until then, the file may be that of another process, which serves on them.
func (s *server) prepareDev(stdout io.Writer) error {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if s.flags.serviceName != "" {
		hosts = append(hosts, s.flags.serviceName)
	}
	dev, err := certs.NewDev(hosts, time.Now())
	if err != nil {
		return fmt.Errorf("make the development certificate: %w", err)
	}
	s.dev = dev
	s.source = dev.Source(s.log, s.metrics)
	s.process.Observer = announcer{s.process.Observer, func() { s.announce(stdout) }}
	return nil
}

// announcer calls ready when the process is.
type announcer struct {
	lifecycle.Observer
	ready func()
}

func (a announcer) PhaseChanged(from, to string, lasted time.Duration, open int) {
	a.Observer.PhaseChanged(from, to, lasted, open)
	if to == "ready" {
		a.ready()
	}
}

func (s *server) announce(w io.Writer) {
	policy := s.flags.policy
	if policy == "" {
		policy = "the example examples/policies/dev.yaml; --policy FILE for your own"
	}
	curl := fmt.Sprintf("curl --cacert %s -H 'Content-Type: application/json'", s.flags.devCA)
	_, _ = fmt.Fprintf(w, `
Evergate serves admission reviews on https://%[1]s
  CA        %[2]s
  policy    %[3]s
  metrics   http://%[4]s/metrics (also /policy, /readyz, /livez)

Try, from the root of the repository:
  %[5]s -d @examples/reviews/pod.json https://%[1]s/mutate/pods
  %[5]s -d @examples/reviews/ingress.json https://%[1]s/validate/ingresses

Ctrl-C ends it.
`, s.address, s.flags.devCA, policy, s.process.OpsListener.Addr(), curl)
}
