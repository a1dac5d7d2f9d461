package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/evergate/evergate/certs"
	"github.com/evergate/evergate/examples"
	"github.com/evergate/evergate/handlers"
	"github.com/evergate/evergate/handlers/selfprobe"
	"github.com/evergate/evergate/lifecycle"
	"github.com/evergate/evergate/lifecycle/policystore"
	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/telemetry"
)

// server contains the parts of one serving process.
type server struct {
	flags   settings.Serve
	log     *slog.Logger
	metrics *telemetry.Metrics
	tracing *telemetry.Tracing // nil without tracing

	policies *policystore.Store
	source   *certs.Source
	dev      *certs.Dev        // nil without --dev
	clients  *certs.ClientAuth // nil if clients are not authenticated
	prober   *selfprobe.Prober
	process  *lifecycle.Process

	address string // of the serving port; empty until it is bound
}

// serve runs the server until it receives a signal to stop. The last line of the log contains the reason why the
// process ends. serve returns errors about flags and policy, which are then printed like the errors of other commands.
func serve(ctx context.Context, f settings.Serve, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the goroutines that watch files
	defer tuneHeap()()
	registry := telemetry.NewRegistry()
	verbosity := newVerbosity(f.LogLevel)
	s := &server{flags: f, log: newLogger(stderr, f.LogFormat, verbosity), metrics: telemetry.NewMetrics(registry)}
	louder := make(chan os.Signal, 1)
	notifyVerbosity(louder)
	defer signal.Stop(louder)
	go verbosity.follow(ctx, louder, s.log)

	// The first signal starts the drain, and the second signal ends it.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)

	loaded := make(chan error, 1)
	go func() { loaded <- s.load(ctx) }()
	select {
	case err := <-loaded:
		if err != nil {
			return err
		}
	case received := <-signals: // reading files may take long, and clients cannot have connected yet
		s.log.Info("received signal while loading; exiting", "signal", received.String())
		return s.exit(nil)
	}
	built := thisBuild()
	s.log.Info("starting", "version", built.Version, "revision", built.Commit, "go", built.Go)
	if f.Dev {
		if err := s.prepareDev(stdout); err != nil {
			return err
		}
	}
	config := s.handlers()
	config.Scrape = telemetry.Scrape(registry, s.log)
	s.process.Handler, s.process.OpsHandler = handlers.New(config)

	ops, err := new(net.ListenConfig).Listen(ctx, "tcp", f.OpsListen)
	if err != nil {
		return &exitError{lifecycle.ExitFailed, fmt.Errorf("--ops-listen: %w: set another address with --ops-listen", err)}
	}
	s.process.OpsListener = ops
	s.log.Info("ops port bound", "address", ops.Addr().String())

	// A reader of the log or of the greeting may disappear, for example if a journal or a container runtime is
	// restarted. Without this, package os would end the process at its next write, together with all running reviews.
	signal.Ignore(syscall.SIGPIPE)

	return s.exit(s.process.Run(ctx, signals))
}

// load creates all parts of the process and loads the policy. It does not start to serve. File watchers run until
// life ends, so the certificate stays valid during the drain too.
func (s *server) load(life context.Context) (err error) {
	f := &s.flags
	built := thisBuild()
	s.metrics.Built(built.Version, built.Commit, built.Go)
	if s.tracing, err = s.metrics.TracingFromEnvironment(life, built.Version, s.log); err != nil {
		return err
	}
	if f.Dev && f.Policy != "" { // in a cluster, the ConfigMap is optional
		if _, err := policystore.Read(f.Policy); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
	}
	if s.policies, err = s.openPolicy(); err != nil {
		if _, bad := errors.AsType[*policystore.InvalidError](err); bad {
			return err
		}
		return &exitError{lifecycle.ExitFailed, err}
	}
	s.source = certs.NewSource(certs.Files{Cert: f.TLSCert, Key: f.TLSKey, CA: f.TLSCA, ServerName: f.ServiceName},
		s.log, s.metrics)
	if f.ClientCAFile != "" {
		if s.clients, err = certs.NewClientAuth(f.ClientCAFile, f.ClientNames, s.log, s.metrics); err != nil {
			return err
		}
	}
	if s.prober, err = selfprobe.New(); err != nil {
		return err
	}
	s.process = &lifecycle.Process{
		Open:   func(ctx context.Context) (net.Listener, error) { return s.open(ctx, life) },
		Probe:  s.probe,
		Exempt: s.exempt,

		DrainDelay:       f.DrainDelay,
		DrainTimeout:     f.DrainTimeout,
		ShutdownTimeout:  f.ShutdownTimeout,
		KeepReady:        f.DrainReadiness == "keep",
		MaxConnectionAge: f.MaxConnectionAge,
		MaxConnections:   f.MaxConnections,

		OnStop: []func(context.Context) error{s.tracing.Stop},

		Log:      s.log,
		Observer: observer{s.metrics, s.tracing},
	}
	return nil
}

// exempt reports whether a request is not a review from a client. It may be a probe, or a request from the process
// itself.
func (s *server) exempt(r *http.Request) bool { return handlers.IsProbe(r) || s.prober.Sent(r) }

// observer counts the events of package lifecycle, and traces phases.
type observer struct {
	*telemetry.Metrics
	tracing *telemetry.Tracing
}

// PhaseChanged implements lifecycle.Observer.
func (o observer) PhaseChanged(from, to string, lasted time.Duration, open int) {
	o.Metrics.PhaseChanged(from, to, lasted, open)
	o.tracing.PhaseChanged(from, to, lasted, open)
}

// openPolicy opens the policy of --policy. With --dev, the default is the example policy.
func (s *server) openPolicy() (*policystore.Store, error) {
	if s.flags.Dev && s.flags.Policy == "" {
		return policystore.FromBytes("examples/policies/dev.yaml", examples.DevPolicy(), s.log, s.metrics)
	}
	return policystore.Open(s.flags.Policy, s.log, s.metrics)
}

func (s *server) handlers() handlers.Config {
	config := handlers.Config{
		Policies:     s.policies,
		PolicyStatus: func() any { return s.policies.Status() },
		Ready:        s.ready,
		Live:         s.process.Live,
		SelfProbe:    s.prober,
		Metrics:      s.metrics,
		Tracing:      s.tracing,
		Log:          s.log,
		Limits:       s.flags.Limits,
		Version:      thisBuild().Version,
	}
	if s.clients != nil {
		config.Authenticate = s.clients.Require
	}
	return config
}

// ready returns nil if the process accepts reviews, clients will trust its certificate, and it has a policy if it
// needs one.
func (s *server) ready() error {
	if err := s.process.Ready(); err != nil {
		return err
	}
	if err := s.source.Err(); err != nil {
		return err
	}
	if s.flags.RequirePolicy && s.policies.Current().Emptied() {
		return fmt.Errorf("there is no policy at %s, but --require-policy is set", s.flags.Policy)
	}
	return nil
}

// open waits for the certificates, starts to watch the files, and binds the serving port.
func (s *server) open(ctx, life context.Context) (net.Listener, error) {
	if err := s.waitForCertificates(ctx); err != nil {
		return nil, err
	}
	minVersion, err := certs.ParseTLSVersion(s.flags.TLSMinVersion)
	if err != nil {
		return nil, err
	}
	s.process.TLS = certs.ServerConfig(s.source, minVersion, s.clients)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.flags.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w: set another address with --listen", err)
	}
	if s.dev != nil {
		if err := s.dev.WriteCA(s.flags.DevCA); err != nil {
			return nil, errors.Join(fmt.Errorf("--dev-ca: %w", err), l.Close())
		}
	}
	s.address = l.Addr().String()
	go s.policies.Run(life, s.flags.ReloadInterval)
	go s.source.Run(life, s.flags.ReloadInterval)
	if s.clients != nil {
		go s.clients.Run(life, s.flags.ReloadInterval)
	}
	return l, nil
}

func (s *server) waitForCertificates(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.flags.StartupTimeout)
	defer cancel()
	if err := s.source.Wait(ctx); err != nil {
		return err
	}
	if s.clients == nil {
		return nil
	}
	return s.clients.Wait(ctx)
}

// probe sends the reviews of the self-probe through the real listener, on a separate connection. If the listener is
// on all addresses, dialling its address connects to this machine.
func (s *server) probe(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:     s.source.ProbeConfig(s.clients),
		TLSHandshakeTimeout: 10 * time.Second, // as in kube-apiserver's client
	}}
	return s.prober.Check(ctx, client, "https://"+s.address)
}

// exit logs the reason why the process ends, as the last line of the log, and returns the exit code.
func (s *server) exit(err error) error {
	if err == nil {
		s.log.Info("exit", "code", 0)
		return nil
	}
	code := lifecycle.ExitFailed
	if e, ok := errors.AsType[*lifecycle.ExitError](err); ok {
		code = e.Code
	}
	s.log.Error("exit", "code", code, "error", err)
	return &exitError{code: code}
}
