package cmd

import (
	"fmt"
	"io"
	"time"

	"github.com/evergate/evergate/certs"
	"github.com/evergate/evergate/lifecycle"
)

// prepareDev generates the development certificate. Once the server is ready, it prints commands to try. The CA file
// is written after the ports are bound. Before that, the file may belong to another process that uses the ports.
func (s *server) prepareDev(stdout io.Writer) error {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if s.flags.ServiceName != "" {
		hosts = append(hosts, s.flags.ServiceName)
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

// announcer calls ready when the process becomes ready.
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
	policy := s.flags.Policy
	if policy == "" {
		policy = "the example examples/policies/dev.yaml (use --policy FILE for your policy)"
	}
	curl := fmt.Sprintf("curl --cacert %s -H 'Content-Type: application/json'", s.flags.DevCA)
	_, _ = fmt.Fprintf(w, `
Evergate serves admission reviews on https://%[1]s
  CA        %[2]s
  policy    %[3]s
  metrics   http://%[4]s/metrics (also /policy, /readyz, /livez)

Try, from the root of the repository:
  %[5]s -d @examples/reviews/pod.json https://%[1]s/mutate/pods
  %[5]s -d @examples/reviews/ingress.json https://%[1]s/validate/ingresses

Press Ctrl-C to stop.
`, s.address, s.flags.DevCA, policy, s.process.OpsListener.Addr(), curl)
}
