// Package settings holds what evergate serve is set to: its flags, the variables of the environment that set them, and
// what of both it refuses. The command starts by it and evergate preflight judges Deployments by it, so that the two
// cannot differ.
//
//	serve.go        the flags of evergate serve
//	complete.go     what is refused of them, and what depends on others
//	environment.go  the variables that set flags
//	parse.go        the settings of a container, of which a part may not be known
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

// Serve is what the flags of evergate serve set; docs/serve.md says what each means.
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

// Defaults of flags that belong to no package of the process.
const (
	// 10250 is the port of nodes that private control planes of GKE reach without a firewall rule.
	defaultListen    = ":10250"
	defaultOpsListen = ":8080"

	// cert-manager issues a first certificate within seconds, kubelet mounts it within its sync period of a minute.
	defaultStartupTimeout = 2 * time.Minute
)

// Define adds the flags to a set, in the order of the help. They hold their defaults from then on.
func (f *Serve) Define(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.BoolVar(&f.Dev, "dev", false, "serve on this machine only, with a certificate of its own and an example policy")
	flags.StringVar(&f.DevCA, "dev-ca", "",
		"`file` to write the CA of --dev to (default evergate-dev-ca.crt in the directory for temporary files)")

	flags.StringVarP(&f.Policy, "policy", "p", "",
		"`file` or directory of the policy, such as a mounted ConfigMap; absent or empty: everything is allowed")
	flags.BoolVar(&f.RequirePolicy, "require-policy", false, "not ready without a policy: files that hold an entry, or "+
		"say allowEmpty")
	flags.DurationVar(&f.ReloadInterval, "reload-interval", reload.DefaultInterval,
		"how often the files of policy and certificates are looked at")

	flags.StringVar(&f.Listen, "listen", defaultListen, "`address` for reviews and probes, over HTTPS")
	flags.StringVar(&f.OpsListen, "ops-listen", defaultOpsListen,
		"`address` for metrics, probes and /policy, over plain HTTP")

	flags.StringVar(&f.TLSCert, "tls-cert", "", "`file` of the serving certificate")
	flags.StringVar(&f.TLSKey, "tls-key", "", "`file` of its key")
	flags.StringVar(&f.TLSCA, "tls-ca", "",
		"`file` of the CA that it must chain to, where there is one (default ca.crt beside --tls-cert)")
	flags.StringVar(&f.ServiceName, "service-name", "",
		"DNS `name` that the certificate must cover, <service>.<namespace>.svc")
	flags.StringVar(&f.TLSMinVersion, "tls-min-version", "1.3",
		"lowest TLS `version`: 1.3, or 1.2 for clients that need it")
	flags.StringVar(&f.ClientCAFile, "client-ca-file", "",
		"`file` of the CAs of clients; set, reviews need a client certificate")
	flags.StringArrayVar(&f.ClientNames, "client-name", nil,
		"common `name`, DNS name or URI of an accepted client (default: all of --client-ca-file); can be repeated")

	flags.DurationVar(&f.StartupTimeout, "startup-timeout", defaultStartupTimeout,
		"how long to wait for a certificate that is not there yet")
	flags.DurationVar(&f.DrainDelay, "drain-delay", lifecycle.DefaultDrainDelay,
		"shortest drain: how long the end of an endpoint takes to reach every node")
	flags.DurationVar(&f.DrainTimeout, "drain-timeout", lifecycle.DefaultDrainTimeout, "longest drain, from the signal on")
	flags.StringVar(&f.DrainReadiness, "drain-readiness", "fail",
		"readiness while draining: fail, or keep for a single replica")
	flags.DurationVar(&f.ShutdownTimeout, "shutdown-timeout", lifecycle.DefaultShutdownTimeout,
		"after the drain, how long reviews under way may take")
	flags.DurationVar(&f.MaxConnectionAge, "max-connection-age", lifecycle.DefaultMaxConnectionAge,
		"age, ±10 %, at which a connection is retired by its next answer; 0: never")
	flags.IntVar(&f.MaxConnections, "max-connections", lifecycle.DefaultMaxConnections, "connections open at one time")
	flags.IntVar(&f.Limits.Reviews, "max-in-flight", 0,
		"reviews decided at one time (default four times the number of cores)")
	flags.Int64Var(&f.Limits.BodyBytes, "max-body-bytes", 0,
		"`bytes` of reviews held at one time, at least the largest review (default 64 MiB)")

	flags.TextVar(&f.LogLevel, "log-level", slog.LevelInfo,
		"lowest `level` that is logged: debug, info, warn or error; SIGUSR1 changes to debug and back")
	flags.Var(&f.LogFormat, "log-format", "json or text (default text on a terminal, json elsewhere)")
}

// LogFormat is json, text, or empty for what suits the place that logs go to.
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
