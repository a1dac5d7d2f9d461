package cmd

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/internal/output"
	"github.com/evergate/evergate/internal/settings"
	"github.com/evergate/evergate/offline"
)

// exitFound says that preflight has found an error.
const exitFound = 1

// connectService is the value of --connect that stands for the address of the Service.
const connectService = "service"

// preflightFlags are the flags of evergate preflight.
type preflightFlags struct {
	files   []string
	ignore  []string
	connect string
	timeout time.Duration
	output  output.Flag
	text    *textFlags
}

func newPreflightCommand(env settings.Environment) *cobra.Command {
	f := preflightFlags{output: output.NewFlag(output.All()...), text: newTextFlags(env, failOnError)}
	c := &cobra.Command{
		Use:   "preflight -f FILE",
		Short: "Say what would break a cluster: in the manifests that install Evergate, or in one that runs it",
		Long: `Preflight reads rendered manifests, or what deploy/collect.sh prints of a live cluster, and says what would
break the cluster: for each finding what was found, why it breaks clusters, and the fix. It asks no API server.
docs/preflight.md lists all findings.

With --connect it asks the Service which certificate it serves now, to see whether the API server would trust it; from
inside the cluster, or through kubectl port-forward with the address that this prints. Nothing is sent.

Exit codes: 0 no error is found (there may be warnings), 1 an error is found, with --fail-on warn also a warning, 2 bad
flags, or input that is not understood.`,
		Example: `  kubectl kustomize kustomize/overlays/fail-closed | evergate preflight -f -
  deploy/collect.sh | evergate preflight -f - --connect=127.0.0.1:8443`,
		Args: noArgs("name manifests with -f"),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVarP(&f.files, "filename", "f", nil,
		"`file` or directory of manifests, or - for stdin; can be repeated")
	defineIgnore(flags, &f.ignore)
	flags.StringVar(&f.connect, "connect", "",
		"`address` to ask for the certificate that is served; alone: that of the Service")
	flags.Lookup("connect").NoOptDefVal = connectService
	const likeAPIServer = 10 * time.Second
	flags.DurationVar(&f.timeout, "connect-timeout", likeAPIServer, "how long to wait for it")
	flags.VarP(&f.output, "output", "o", f.output.Usage("the report"))
	f.text.define(flags)
	return c
}

func (f *preflightFlags) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	if len(f.files) == 0 {
		return errors.New("check what? name manifests with -f FILE, -f DIRECTORY or -f - for stdin")
	}
	ignore, err := parseIgnore(f.ignore)
	if err != nil {
		return err
	}
	inv, err := deploy.Read(offline.ReadIgnoring(f.files, stdin, ignore))
	if err != nil {
		return err
	}
	served, err := f.served(ctx, inv)
	if err != nil {
		return err
	}
	report, err := deploy.Check(inv, deploy.Options{Now: time.Now(), Served: served})
	if err != nil {
		return err
	}
	if err := f.write(stdout, report); err != nil {
		return err
	}
	if report.Summary.Errors > 0 || f.text.failOnWarnings() && report.Summary.Warnings > 0 {
		return &exitError{code: exitFound}
	}
	return nil
}

// served returns the chain that the Service serves; nil when it is not to be asked.
func (f *preflightFlags) served(ctx context.Context, inv *deploy.Inventory) ([]*x509.Certificate, error) {
	if f.connect == "" {
		return nil, nil
	}
	dnsName, address, err := inv.Service()
	if err != nil {
		return nil, fmt.Errorf("--connect: %w", err)
	}
	if f.connect != connectService {
		address = f.connect
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	chain, err := deploy.Dial(ctx, address, dnsName)
	if err != nil {
		return nil, fmt.Errorf("--connect: %w", err)
	}
	return chain, nil
}

func (f *preflightFlags) write(w io.Writer, r *deploy.Report) error {
	colors := f.text.colors(w)
	w = f.text.writer(w)
	if format := f.output.Format(); format != output.Text {
		about := output.Report{Command: "preflight", FailOnWarnings: f.text.failOnWarnings()}
		return writeReport(w, format, r, about, r.Cases)
	}
	least := deploy.Info
	switch {
	case f.text.onlyFailures && f.text.failOnWarnings():
		least = deploy.Warning
	case f.text.onlyFailures:
		least = deploy.Error
	}
	if _, err := io.WriteString(w, r.TextOf(least, colors)); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}
