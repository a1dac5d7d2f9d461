package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/evergate/evergate/lifecycle"
)

// phases prints each phase that a process enters, and sends a signal when it is ready.
type phases struct{ signals chan<- os.Signal }

func (p phases) PhaseChanged(_, to string, _ time.Duration, _ int) {
	fmt.Println(to)
	if to == "ready" {
		p.signals <- syscall.SIGTERM
	}
}
func (phases) SelfProbed(string, time.Duration) {}
func (phases) ConnectionEvicted()               {}

// Set the fields of a Process, pass its methods to the handlers, and run it. Signals arrive on a channel: use
// signal.Notify in a command.
func Example() {
	signals := make(chan os.Signal, 2)
	p := &lifecycle.Process{
		DrainTimeout:    lifecycle.DefaultDrainTimeout, // DrainDelay is 0, so the drain ends when no connection is open
		ShutdownTimeout: lifecycle.DefaultShutdownTimeout,
		Observer:        phases{signals},
	}
	var address string
	p.Open = func(ctx context.Context) (net.Listener, error) {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		address = "http://" + l.Addr().String() + "/readyz"
		return l, nil
	}
	p.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := p.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	p.Exempt = func(r *http.Request) bool { return r.URL.Path == "/readyz" }
	p.Probe = func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		request.Close = true // a connection that the probe kept would delay the drain
		resp, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	if err := p.Run(context.Background(), signals); err != nil {
		var exit *lifecycle.ExitError
		fmt.Println(errors.As(err, &exit), err)
	}
	// Output:
	// listening
	// ready
	// draining
	// stopping
	// stopped
}
