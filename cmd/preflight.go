package cmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/lifecycle/settings"
)

// connectService is the value of --connect that represents the address of the Service.
const connectService = "service"

// preflightFlags are the flags of evergate preflight.
type preflightFlags struct {
	inputFlags
	connect string
	caFile  string
	timeout time.Duration
	pod     bool
	report  *cli.Report
}

func newPreflightCommand(env settings.Environment) *cobra.Command {
	f := preflightFlags{report: cli.NewReport(env, "error", cli.Warn)}
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
Service. With --ca-file, preflight does not need manifests. It requests /readyz from the address of --connect, and
verifies the certificate with this CA. helm test does this.

Exit codes: 0 no error was found (there may be warnings), 1 an error was found (with --fail-on warn also a warning), 2
bad flags, or input that cannot be read.`,
		Example: `  kubectl kustomize kustomize/overlays/fail-closed | evergate preflight -f -
  deploy/collect.sh | evergate preflight -f - --connect=127.0.0.1:8443
  kubectl kustomize kustomize/overlays/fail-closed | evergate preflight --pod -f - |
    kubectl create --dry-run=server --as=system:serviceaccount:kube-system:replicaset-controller -f -`,
		Args: cli.FilesOf("filename"),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	f.inputFlags.define(flags)
	flags.StringVar(&f.connect, "connect", "",
		"`address` from which to read the serving certificate; without a value: the address of the Service")
	flags.Lookup("connect").NoOptDefVal = connectService
	flags.StringVar(&f.caFile, "ca-file", "", "`file` with the CA of the certificate of --connect, instead of manifests")
	const likeAPIServer = 10 * time.Second
	flags.DurationVar(&f.timeout, "connect-timeout", likeAPIServer, "timeout for --connect")
	flags.BoolVar(&f.pod, "pod", false, "print the Pod that the API server would be asked to create, instead of a report")
	f.report.Define(flags, "the report", "")
	return c
}

func (f *preflightFlags) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	if f.caFile != "" {
		return f.ready(ctx, stdout)
	}
	if len(f.files) == 0 {
		return errors.New(noManifests)
	}
	manifests, err := f.inputFlags.read(stdin)
	if err != nil {
		return err
	}
	objects, err := install.Read(manifests)
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
	if err := f.report.Write(stdout, "preflight", report); err != nil {
		return err
	}
	if report.Summary.Errors > 0 || f.report.FailOnWarnings() && report.Summary.Warnings > 0 {
		return cli.Exit(cli.Found)
	}
	return nil
}

// ready asks Evergate at the address of --connect whether it is ready, and verifies its certificate with --ca-file.
func (f *preflightFlags) ready(ctx context.Context, stdout io.Writer) error {
	ca, err := os.ReadFile(f.caFile)
	if err != nil {
		return fmt.Errorf("--ca-file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return fmt.Errorf("--ca-file: %s contains no certificate", f.caFile)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+f.connect+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("--connect: %w", err)
	}
	client := http.Client{Timeout: f.timeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("--connect: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("--connect: %s answers %s", request.URL, response.Status)
	}
	_, err = fmt.Fprintf(stdout, "%s is ready\n", f.connect)
	return err
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
