package cmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/certs"
	"github.com/evergate/evergate/handlers"
	"github.com/evergate/evergate/internal/reload"
	"github.com/evergate/evergate/lifecycle"
)

// serveFlags are the flags of evergate serve.
type serveFlags struct {
	dev   bool
	devCA string

	policy         string
	requirePolicy  bool
	reloadInterval time.Duration

	listen, opsListen string

	tlsCert, tlsKey, tlsCA string
	serviceName            string
	tlsMinVersion          string
	clientCAFile           string
	clientNames            []string

	startupTimeout   time.Duration
	drainDelay       time.Duration
	drainTimeout     time.Duration
	drainReadiness   string
	shutdownTimeout  time.Duration
	maxConnectionAge time.Duration
	maxConnections   int
	limits           handlers.Limits

	log logFlags
}

// Defaults of flags that belong to no package of the process.
const (
	// 10250 is the port of nodes that private control planes of GKE reach without a firewall rule.
	defaultListen    = ":10250"
	defaultOpsListen = ":8080"

	// cert-manager issues a first certificate within seconds, kubelet mounts it within its sync period of a minute.
	defaultStartupTimeout = 2 * time.Minute
)

func newServeCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Answer kube-apiserver's admission reviews",
		Long: `Serve answers the admission reviews of kube-apiserver over HTTPS, until SIGTERM or SIGINT. It then drains:
it goes on serving, and tells clients by "Connection: close" to reconnect elsewhere. A second signal ends it at once.

With --dev it makes its own certificate, loads an example policy and listens on 127.0.0.1 only.

Exit codes: 0 drained, 1 failed to start or to serve (the last log line says why), 2 bad flags or a bad policy,
3 forced by a second signal, 4 the shutdown timeout ended a request.`,
		Example: `  evergate serve --dev
  evergate serve --policy /etc/evergate/policy \
    --tls-cert /etc/evergate/tls/tls.crt --tls-key /etc/evergate/tls/tls.key`,
		Args: noArgs("everything is set by flags"),
	}
	f.define(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := f.complete(c.Flags()); err != nil {
			return err
		}
		return serve(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
	}
	return c
}

func (f *serveFlags) define(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.BoolVar(&f.dev, "dev", false, "serve on this machine only, with a certificate of its own and an example policy")
	flags.StringVar(&f.devCA, "dev-ca", "",
		"`file` to write the CA of --dev to (default evergate-dev-ca.crt in the directory for temporary files)")

	flags.StringVarP(&f.policy, "policy", "p", "",
		"`file` or directory of the policy, such as a mounted ConfigMap; absent or empty: everything is allowed")
	flags.BoolVar(&f.requirePolicy, "require-policy", false, "not ready without a policy: files that hold an entry, or "+
		"say allowEmpty")
	flags.DurationVar(&f.reloadInterval, "reload-interval", reload.DefaultInterval,
		"how often the files of policy and certificates are looked at")

	flags.StringVar(&f.listen, "listen", defaultListen, "`address` for reviews and probes, over HTTPS")
	flags.StringVar(&f.opsListen, "ops-listen", defaultOpsListen,
		"`address` for metrics, probes and /policy, over plain HTTP")

	flags.StringVar(&f.tlsCert, "tls-cert", "", "`file` of the serving certificate")
	flags.StringVar(&f.tlsKey, "tls-key", "", "`file` of its key")
	flags.StringVar(&f.tlsCA, "tls-ca", "",
		"`file` of the CA that it must chain to, where there is one (default ca.crt beside --tls-cert)")
	flags.StringVar(&f.serviceName, "service-name", "",
		"DNS `name` that the certificate must cover, <service>.<namespace>.svc")
	flags.StringVar(&f.tlsMinVersion, "tls-min-version", "1.3",
		"lowest TLS `version`: 1.3, or 1.2 for clients that need it")
	flags.StringVar(&f.clientCAFile, "client-ca-file", "",
		"`file` of the CAs of clients; set, reviews need a client certificate")
	flags.StringArrayVar(&f.clientNames, "client-name", nil,
		"common `name`, DNS name or URI of an accepted client (default: all of --client-ca-file); can be repeated")

	flags.DurationVar(&f.startupTimeout, "startup-timeout", defaultStartupTimeout,
		"how long to wait for a certificate that is not there yet")
	flags.DurationVar(&f.drainDelay, "drain-delay", lifecycle.DefaultDrainDelay,
		"shortest drain: how long the end of an endpoint takes to reach every node")
	flags.DurationVar(&f.drainTimeout, "drain-timeout", lifecycle.DefaultDrainTimeout, "longest drain, from the signal on")
	flags.StringVar(&f.drainReadiness, "drain-readiness", "fail",
		"readiness while draining: fail, or keep for a single replica")
	flags.DurationVar(&f.shutdownTimeout, "shutdown-timeout", lifecycle.DefaultShutdownTimeout,
		"after the drain, how long reviews under way may take")
	flags.DurationVar(&f.maxConnectionAge, "max-connection-age", lifecycle.DefaultMaxConnectionAge,
		"age, ±10 %, at which a connection is retired by its next answer; 0: never")
	flags.IntVar(&f.maxConnections, "max-connections", lifecycle.DefaultMaxConnections, "connections open at one time")
	flags.IntVar(&f.limits.Reviews, "max-in-flight", 0,
		"reviews decided at one time (default four times the number of cores)")
	flags.Int64Var(&f.limits.BodyBytes, "max-body-bytes", 0,
		"`bytes` of reviews held at one time, at least the largest review (default 64 MiB)")

	f.log.define(flags)
}

// complete refuses flags that contradict each other and fills in what depends on others.
func (f *serveFlags) complete(flags *pflag.FlagSet) error {
	if f.dev {
		f.completeDev(flags)
	} else if f.tlsCert != "" && f.tlsCA == "" {
		f.tlsCA = filepath.Join(filepath.Dir(f.tlsCert), "ca.crt")
	}
	_, versionErr := certs.ParseTLSVersion(f.tlsMinVersion)
	if versionErr != nil {
		versionErr = fmt.Errorf("--tls-min-version: %w", versionErr)
	}
	return errors.Join(f.checkFiles(), versionErr, f.checkTimes(), f.checkBounds())
}

func (f *serveFlags) checkFiles() error {
	switch {
	case f.dev && f.tlsCert+f.tlsKey+f.tlsCA != "":
		return errors.New("--dev makes its own certificate: leave out --tls-cert, --tls-key and --tls-ca")
	case !f.dev && f.devCA != "":
		return errors.New("--dev-ca has no meaning without --dev")
	case !f.dev && (f.tlsCert == "" || f.tlsKey == ""):
		return errors.New("serve needs a certificate: set --tls-cert and --tls-key, or --dev to try it on this machine")
	case len(f.clientNames) > 0 && f.clientCAFile == "":
		return errors.New("--client-name needs --client-ca-file: a name is worth nothing without a CA that vouches for it")
	case slices.Contains(f.clientNames, ""):
		return errors.New("--client-name is empty: name a client, or leave it out to accept all of --client-ca-file")
	}
	return nil
}

func (f *serveFlags) checkTimes() error {
	if f.drainReadiness != "fail" && f.drainReadiness != "keep" {
		return fmt.Errorf("--drain-readiness is %q: write fail or keep", f.drainReadiness)
	}
	if f.drainTimeout < f.drainDelay {
		return fmt.Errorf("--drain-timeout %s is shorter than --drain-delay %s, which is a part of it",
			f.drainTimeout, f.drainDelay)
	}
	for _, t := range []struct {
		flag  string
		value time.Duration
		least time.Duration
	}{
		{"drain-delay", f.drainDelay, 0},
		{"shutdown-timeout", f.shutdownTimeout, 0},
		{"max-connection-age", f.maxConnectionAge, 0},
		{"startup-timeout", f.startupTimeout, time.Second},
		{"reload-interval", f.reloadInterval, 10 * time.Millisecond}, // less would do nothing but read files
	} {
		if t.value < t.least {
			return fmt.Errorf("--%s is %s: at least %s", t.flag, t.value, t.least)
		}
	}
	return nil
}

func (f *serveFlags) checkBounds() error {
	for _, b := range []struct {
		flag  string
		value int64
	}{
		{"max-connections", int64(f.maxConnections)},
		{"max-in-flight", int64(f.limits.Reviews)},
		{"max-body-bytes", f.limits.BodyBytes},
	} {
		if b.value < 0 {
			return fmt.Errorf("--%s is %d: it cannot be negative", b.flag, b.value)
		}
	}
	if f.maxConnections == 0 {
		return errors.New("--max-connections is 0: it must be bounded, since each connection takes memory")
	}
	return nil
}
