package cmd

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
)

// exitFound is the exit code if a command has found a problem.
const exitFound = 1

// connectService is the value of --connect that represents the address of the Service.
const connectService = "service"

// preflightFlags are the flags of evergate preflight.
type preflightFlags struct {
	files   []string
	ignore  []string
	connect string
	timeout time.Duration
	pod     bool
	output  output.Flag
	text    *textFlags
}

func newPreflightCommand(env settings.Environment) *cobra.Command {
	f := preflightFlags{output: output.NewFlag(output.All()...), text: newTextFlags(env, failOnError)}
	c := &cobra.Command{
		Use:   "preflight FILE...",
		Short: "Find mistakes in an installation of Evergate that would break a cluster",
		Long: `Preflight reads rendered manifests, or the output of deploy/collect.sh for a running cluster, and reports
mistakes that would break the cluster. Each finding contains the problem, the consequence and the fix. Preflight does
not connect to an API server. docs/preflight.md lists all findings.

With --pod, preflight prints the Pod that the Deployment's ReplicaSet creates. A dry run of it (see the example) shows
whether the API server would reject the Pod, for example because of Pod Security or a quota.

With --connect, preflight connects to the Service and checks whether the API server would trust its certificate. Run it
inside the cluster, or use kubectl port-forward and pass the local address. Preflight does not send any data to the
Service.

Exit codes: 0 no error was found (there may be warnings), 1 an error was found (with --fail-on warn also a warning), 2
bad flags, or input that cannot be read.`,
		Example: `  kubectl kustomize kustomize/overlays/fail-closed | evergate preflight -f -
  deploy/collect.sh | evergate preflight -f - --connect=127.0.0.1:8443
  kubectl kustomize kustomize/overlays/fail-closed | evergate preflight --pod -f - |
    kubectl create --dry-run=server --as=system:serviceaccount:kube-system:replicaset-controller -f -`,
		Args: filesOf("filename"),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVarP(&f.files, "filename", "f", nil,
		"`file` or directory with manifests, or - (stdin); repeatable")
	defineIgnore(flags, &f.ignore)
	flags.StringVar(&f.connect, "connect", "",
		"`address` from which to read the serving certificate; without a value: the address of the Service")
	flags.Lookup("connect").NoOptDefVal = connectService
	const likeAPIServer = 10 * time.Second
	flags.DurationVar(&f.timeout, "connect-timeout", likeAPIServer, "timeout for --connect")
	flags.BoolVar(&f.pod, "pod", false, "print the Pod that the API server would be asked to create, instead of a report")
	flags.VarP(&f.output, "output", "o", f.output.Usage("the report"))
	f.text.define(flags)
	return c
}

func (f *preflightFlags) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	if len(f.files) == 0 {
		return errors.New(noManifests)
	}
	ignore, err := parseIgnore(f.ignore)
	if err != nil {
		return err
	}
	objects, err := install.Read(offline.ReadIgnoring(f.files, stdin, ignore))
	if err != nil {
		return err
	}
	if f.pod {
		return writePods(stdout, objects)
	}
	served, err := f.served(ctx, objects)
	if err != nil {
		return err
	}
	report, err := deploy.Check(objects, deploy.Options{Now: time.Now(), Served: served})
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

// writePods writes a Pod of each Deployment that runs evergate serve, for kubectl create --dry-run=server.
func writePods(w io.Writer, objects *install.Objects) error {
	i, err := install.Join(objects)
	if err != nil {
		return err
	}
	if len(i.Servers) == 0 {
		return errors.New("--pod: the input has no Deployment that runs evergate serve")
	}
	for _, s := range i.Servers {
		pod, err := yaml.Marshal(deploy.PodOf(s.Deployment))
		if err != nil {
			return fmt.Errorf("--pod: %w", err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", pod); err != nil {
			return fmt.Errorf("cannot write the Pod: %w", err)
		}
	}
	return nil
}

// served returns the certificate chain that the Service serves, or nil without --connect.
func (f *preflightFlags) served(ctx context.Context, objects *install.Objects) ([]*x509.Certificate, error) {
	if f.connect == "" {
		return nil, nil
	}
	dnsName, address, err := deploy.ServiceOf(objects)
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
