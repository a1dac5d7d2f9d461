// Package settings contains the configuration of evergate serve: its flags, the environment variables that set them,
// and their validation. Both the command and evergate preflight use it, so they cannot differ.
//
//	serve.go        the flags of evergate serve
//	complete.go     validation, and defaults that depend on other flags
//	environment.go  the environment variables that set flags
//	parse.go        the settings of a container, which may be partly unknown
package settings

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/handlers"
	"github.com/evergate/evergate/internal/reload"
	"github.com/evergate/evergate/lifecycle"
)

// Serve contains the values of the flags of evergate serve. docs/serve.md describes each flag.
type Serve struct {
	Dev   bool
	DevCA string

	Policy         string
	RequirePolicy  bool
	ReloadInterval time.Duration

	Listen, OpsListen string

	TLSCert, TLSKey, TLSCA string
	ServiceName            string
	TLSMinVersion          string
	ClientCAFile           string
	ClientNames            []string

	StartupTimeout   time.Duration
	DrainDelay       time.Duration
	DrainTimeout     time.Duration
	DrainReadiness   string
	ShutdownTimeout  time.Duration
	MaxConnectionAge time.Duration
	MaxConnections   int
	Limits           handlers.Limits

	LogLevel  slog.Level
	LogFormat LogFormat
}

// Defaults of flags that do not belong to another package of the process.
const (
	// A control plane of a private GKE cluster can reach port 10250 of nodes without a firewall rule.
	defaultListen    = ":10250"
	defaultOpsListen = ":8080"

	// cert-manager issues a first certificate within seconds, and kubelet mounts it within its sync period of one
	// minute.
	defaultStartupTimeout = 2 * time.Minute
)

// Define adds the flags to a flag set in the order of the help, and sets their defaults.
func (f *Serve) Define(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.BoolVar(&f.Dev, "dev", false, "serve only on this machine, with a generated certificate and an example policy")
	flags.StringVar(&f.DevCA, "dev-ca", "",
		"`file` to which --dev writes its CA (default evergate-dev-ca.crt in the directory for temporary files)")

	flags.StringVarP(&f.Policy, "policy", "p", "",
		"`file` or directory of the policy, such as a mounted ConfigMap. Without a policy, everything is allowed")
	flags.BoolVar(&f.RequirePolicy, "require-policy", false,
		"become ready only with a policy file that contains an entry or allowEmpty")
	flags.DurationVar(&f.ReloadInterval, "reload-interval", reload.DefaultInterval,
		"how often policy and certificate files are checked for changes")

	flags.StringVar(&f.Listen, "listen", defaultListen, "`address` for reviews and probes (HTTPS)")
	flags.StringVar(&f.OpsListen, "ops-listen", defaultOpsListen,
		"`address` for metrics, probes and /policy (plain HTTP)")

	flags.StringVar(&f.TLSCert, "tls-cert", "", "`file` of the serving certificate")
	flags.StringVar(&f.TLSKey, "tls-key", "", "`file` of the key of --tls-cert")
	flags.StringVar(&f.TLSCA, "tls-ca", "",
		"`file` of the CA that issued --tls-cert, if there is one (default ca.crt next to --tls-cert)")
	flags.StringVar(&f.ServiceName, "service-name", "",
		"DNS `name` that the certificate must contain, <service>.<namespace>.svc")
	flags.StringVar(&f.TLSMinVersion, "tls-min-version", "1.3",
		"lowest TLS `version`: 1.3, or 1.2 for clients that need it")
	flags.StringVar(&f.ClientCAFile, "client-ca-file", "",
		"`file` of the client CAs; if set, reviews require a client certificate")
	flags.StringArrayVar(&f.ClientNames, "client-name", nil,
		"common `name`, DNS name or URI of an allowed client (default: all clients of --client-ca-file); repeatable")

	flags.DurationVar(&f.StartupTimeout, "startup-timeout", defaultStartupTimeout,
		"how long to wait for a missing certificate")
	flags.DurationVar(&f.DrainDelay, "drain-delay", lifecycle.DefaultDrainDelay,
		"minimum drain time, until every node has removed the endpoint")
	flags.DurationVar(&f.DrainTimeout, "drain-timeout", lifecycle.DefaultDrainTimeout,
		"maximum drain time after the signal")
	flags.StringVar(&f.DrainReadiness, "drain-readiness", "fail",
		"readiness during the drain: fail, or keep for a single replica")
	flags.DurationVar(&f.ShutdownTimeout, "shutdown-timeout", lifecycle.DefaultShutdownTimeout,
		"how long running reviews may take after the drain")
	flags.DurationVar(&f.MaxConnectionAge, "max-connection-age", lifecycle.DefaultMaxConnectionAge,
		"age (±10 %) at which a connection is closed with its next response; 0 means never")
	flags.IntVar(&f.MaxConnections, "max-connections", lifecycle.DefaultMaxConnections, "maximum open connections")
	flags.IntVar(&f.Limits.Reviews, "max-in-flight", 0,
		"maximum number of concurrent reviews (default four times the number of cores)")
	flags.Int64Var(&f.Limits.BodyBytes, "max-body-bytes", 0,
		"maximum `bytes` of all concurrent reviews, at least the largest review (default 64 MiB)")

	flags.TextVar(&f.LogLevel, "log-level", slog.LevelInfo,
		"lowest `level` that is logged: debug, info, warn or error. SIGUSR1 switches to debug and back")
	flags.Var(&f.LogFormat, "log-format", "json or text (default text on a terminal, json elsewhere)")
}

// LogFormat is json, text, or empty for the default of the log destination.
type LogFormat string

// String implements pflag.Value.
func (f *LogFormat) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *LogFormat) Set(s string) error {
	if s != "json" && s != "text" {
		return fmt.Errorf("%q is not a format: write json or text", s)
	}
	*f = LogFormat(s)
	return nil
}

// Type implements pflag.Value.
func (f *LogFormat) Type() string { return "format" }
