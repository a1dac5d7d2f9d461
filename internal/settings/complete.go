package settings

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/certs"
)

// The addresses of --dev. They are only reachable from this machine, and their ports do not require privileges.
const (
	devListen    = "127.0.0.1:8443"
	devOpsListen = "127.0.0.1:8080"
)

// Complete sets defaults that depend on other flags. flags reports which flags were set. The error has a line for
// each contradiction and each value that is out of range.
func (f *Serve) Complete(flags *pflag.FlagSet) error {
	f.complete(flags)
	var all []error
	for _, r := range f.problems() {
		all = append(all, r.err)
	}
	return errors.Join(all...)
}

func (f *Serve) complete(flags *pflag.FlagSet) {
	if f.Dev {
		f.completeDev(flags)
	} else if f.TLSCert != "" && f.TLSCA == "" {
		f.TLSCA = filepath.Join(filepath.Dir(f.TLSCert), "ca.crt")
	}
}

// completeDev gives flags that were not set values that are suitable for a laptop.
func (f *Serve) completeDev(flags *pflag.FlagSet) {
	if !flags.Changed("listen") {
		f.Listen = devListen
	}
	if !flags.Changed("ops-listen") {
		f.OpsListen = devOpsListen
	}
	if !flags.Changed("drain-delay") {
		f.DrainDelay = 0 // endpoints do not have to propagate, and Ctrl-C should be fast
	}
	if !flags.Changed("drain-timeout") {
		f.DrainTimeout = f.DrainDelay + time.Second
	}
	if f.DevCA == "" {
		f.DevCA = filepath.Join(os.TempDir(), "evergate-dev-ca.crt")
	}
}

// problem is one reason why evergate serve does not start.
type problem struct {
	flags []string // the flags whose values cause it
	err   error
}

func newProblem(err error, flags ...string) problem { return problem{flags, err} }

func (f *Serve) problems() []problem {
	return slices.Concat(f.checkFiles(), f.checkClients(), f.checkAddresses(), f.checkTimes(), f.checkBounds())
}

func (f *Serve) checkFiles() (all []problem) {
	switch {
	case f.Dev && f.TLSCert+f.TLSKey+f.TLSCA != "":
		all = append(all, newProblem(errors.New("--dev makes its own certificate: leave out --tls-cert, --tls-key and "+
			"--tls-ca"), "dev", "tls-cert", "tls-key", "tls-ca"))
	case !f.Dev && f.DevCA != "":
		all = append(all, newProblem(errors.New("--dev-ca requires --dev"), "dev", "dev-ca"))
	case !f.Dev && (f.TLSCert == "" || f.TLSKey == ""):
		all = append(all, newProblem(errors.New("serve needs a certificate: set --tls-cert and --tls-key, or set --dev to "+
			"try it on this machine"), "dev", "tls-cert", "tls-key"))
	}
	if f.RequirePolicy && f.Policy == "" && !f.Dev {
		all = append(all, newProblem(errors.New("--require-policy needs --policy: without one it would never be ready"),
			"dev", "policy", "require-policy"))
	}
	return all
}

func (f *Serve) checkClients() (all []problem) {
	if _, err := certs.ParseTLSVersion(f.TLSMinVersion); err != nil {
		all = append(all, newProblem(fmt.Errorf("--tls-min-version: %w", err), "tls-min-version"))
	}
	switch {
	case len(f.ClientNames) > 0 && f.ClientCAFile == "":
		all = append(all, newProblem(errors.New("--client-name needs --client-ca-file: without a CA, a client can "+
			"claim any name"), "client-name", "client-ca-file"))
	case slices.Contains(f.ClientNames, ""):
		all = append(all, newProblem(errors.New("--client-name is empty: write the name of a client, or leave it out to "+
			"accept all clients of --client-ca-file"), "client-name"))
	}
	return all
}

func (f *Serve) checkAddresses() (all []problem) {
	host, port, err := SplitAddress(f.Listen)
	if err != nil {
		all = append(all, newProblem(fmt.Errorf("--listen is %q: %w", f.Listen, err), "dev", "listen"))
	}
	opsHost, opsPort, opsErr := SplitAddress(f.OpsListen)
	if opsErr != nil {
		all = append(all, newProblem(fmt.Errorf("--ops-listen is %q: %w", f.OpsListen, opsErr), "dev", "ops-listen"))
	}
	if port != 0 && port == opsPort && (everywhere(host) || everywhere(opsHost) || host == opsHost) {
		all = append(all, newProblem(fmt.Errorf("--listen and --ops-listen are both on port %d: choose two free ports, "+
			"such as %s and %s", port, defaultListen, defaultOpsListen), "dev", "listen", "ops-listen"))
	}
	return all
}

// SplitAddress splits the address of a listener. The host is empty if it listens on all addresses. Port 0 means any
// free port. The error contains a hint.
func SplitAddress(address string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("it has no port such as %s", defaultListen)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("its port is not a number from 0 to 65535: write a port such as %s", defaultListen)
	}
	if everywhere(host) {
		host = ""
	}
	return host, uint16(n), nil
}

// everywhere reports whether a listener on host listens on all addresses.
func everywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

func (f *Serve) checkTimes() (all []problem) {
	if f.DrainReadiness != "fail" && f.DrainReadiness != "keep" {
		all = append(all, newProblem(fmt.Errorf("--drain-readiness is %q: write fail or keep", f.DrainReadiness),
			"drain-readiness"))
	}
	if f.DrainTimeout < f.DrainDelay {
		all = append(all, newProblem(fmt.Errorf("--drain-timeout %s is shorter than --drain-delay %s, which is a part of it",
			f.DrainTimeout, f.DrainDelay), "dev", "drain-timeout", "drain-delay"))
	}
	for _, t := range []struct {
		flag  string
		value time.Duration
		least time.Duration
	}{
		{"drain-delay", f.DrainDelay, 0},
		{"shutdown-timeout", f.ShutdownTimeout, 0},
		{"max-connection-age", f.MaxConnectionAge, 0},
		{"startup-timeout", f.StartupTimeout, time.Second},
		{"reload-interval", f.ReloadInterval, 10 * time.Millisecond}, // avoids constant reading
	} {
		if t.value < t.least {
			all = append(all, newProblem(fmt.Errorf("--%s is %s: at least %s", t.flag, t.value, t.least), t.flag))
		}
	}
	return all
}

func (f *Serve) checkBounds() (all []problem) {
	for _, b := range []struct {
		flag  string
		value int64
	}{
		{"max-connections", int64(f.MaxConnections)},
		{"max-in-flight", int64(f.Limits.Reviews)},
		{"max-body-bytes", f.Limits.BodyBytes},
	} {
		if b.value < 0 {
			all = append(all, newProblem(fmt.Errorf("--%s is %d: it cannot be negative", b.flag, b.value), b.flag))
		}
	}
	if f.MaxConnections == 0 {
		all = append(all, newProblem(errors.New("--max-connections is 0: write a limit, because each connection takes "+
			"memory"), "max-connections"))
	}
	return all
}
