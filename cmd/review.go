package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/apiserver"
	"github.com/evergate/evergate/offline/reports"
	"github.com/evergate/evergate/telemetry"
)

// reviewFlags are the flags of evergate review.
type reviewFlags struct {
	policy string
	inputFlags
	requestFlags
	old         []string
	server      string // API server from which objects are listed
	credentials string
	report      *cli.Report
	reports     bool
	reportGroup string
	pushURL     string
	metricsFile string
	kinds       bool
}

// listedObjects is the default number of objects that an audit lists. For a cluster with 27,000 objects, the complete
// list had 170,402 lines, which is more than anyone reads.
const listedObjects = 100

// failOnNoNamespace is a word for --fail-on.
const failOnNoNamespace = "no-namespace"

// reviewHelp is the help of evergate review.
const reviewHelp = `Review evaluates manifests with a policy and reports which objects would be rewritten, denied or
warned about if they were applied. It uses the same code as the webhook.

Set the namespace of the manifests with -n, as in kubectl apply. Many manifests have no namespace, and rules can apply
to certain namespaces only. Without -n, review validates objects without a namespace in the namespace default, and
reports their number. With --fail-on no-namespace, they are errors.

Review reads the same YAML and JSON as kubectl. In a directory, it skips and counts hidden files, other types of files,
documents that are not manifests, templates, parts of Helm charts, patches and data of kustomizations, links to
directories, and files that match --ignore or an .evergateignore file. docs/review.md describes the rules.

Review validates Pods, Ingresses, Services, Gateway API routes, Gateways, ListenerSets and ReferenceGrants, OpenShift
Routes, cert-manager Certificates and external-dns DNSEndpoints. It validates workloads with their Pod template:
Deployments, StatefulSets, DaemonSets, ReplicaSets, ReplicationControllers, Jobs, CronJobs, PodTemplates, and custom
resources in the templates block of the policy. Review cannot see labels that only a controller adds. If the API server
would accept a workload with a warning, but the webhook would deny its Pods, the decision in JSON is podsDenied. Review
skips and lists other objects.

With --as-existing, review audits the objects in a cluster. It reports the objects that would be denied now, and the
running images that do not come from a mirror. The report lists them by namespace and owner, and counts them by rule and
by namespace. Review validates all namespaces in the input, even if they have not opted in. It leaves out ended Pods.
With --api-server it lists all supported kinds that the API server serves, and reports the kinds that it does not serve.
Review can push the counts to a Pushgateway, write them to a file for the node exporter, or write the findings to the
API server as reports. See docs/audit.md.

Without --user, review leaves out and counts mirror Pods of static Pods. Review can't check whether a node created them,
and a tenant can write the same annotation.

Exceptions in a policy end on a date. Use --at to evaluate the policy at another date. With -o json or --explain, the
report contains findings that an exception silences.

Exit codes: 0 all objects are allowed, 1 an object or its Pods would be denied or a unique entry in mode enforce finds a
duplicate (with --fail-on warn also if there is a warning), 2 bad flags, a bad policy, input that cannot be read, or
counts or reports that could not be written.`

func newReviewCommand(env settings.Environment) *cobra.Command {
	f := reviewFlags{report: cli.NewReport(env, "denied", cli.Warn, failOnNoNamespace)}
	c := &cobra.Command{
		Use:   "review --policy POLICY -n NAMESPACE FILE...",
		Short: "Show which objects a policy would rewrite, deny or warn about, without a cluster",
		Long:  reviewHelp,
		Example: `  evergate review --policy policy.yaml -n team-a deploy/
  helm template chart -n team-a | evergate review --policy policy.yaml -n team-a -f - --explain
  evergate review --policy policy.yaml -f deploy/ --set edge
  kubectl get pods -A -o json | evergate review --policy policy.yaml -f - --as-existing
  kubectl proxy & evergate review --policy policy.yaml --as-existing --api-server http://127.0.0.1:8001`,
		Args: cli.FilesOf("filename"),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.kinds {
				_, err := fmt.Fprintln(c.OutOrStdout(), strings.Join(apiserver.Resources(), "\n"))
				return err
			}
			f.NamespaceAssumed = !c.Flags().Changed("namespace")
			return f.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.define(c.Flags())
	return c
}

func (f *reviewFlags) define(flags *pflag.FlagSet) {
	flags.SortFlags = false
	definePolicy(flags, &f.policy)
	f.inputFlags.define(flags)
	flags.StringArrayVar(&f.old, "old", nil, "`file` or directory with the objects before the update; "+
		"objects that are not in it are created; repeatable")
	f.requestFlags.define(flags)
	flags.BoolVar(&f.AsExisting, "as-existing", false, "validate objects that already exist in a cluster")
	flags.StringVar(&f.server, "api-server", "", "list the objects of this API server instead of -f: a `URL`, such as "+
		"https://kubernetes.default.svc in a Pod or http://127.0.0.1:8001 for kubectl proxy")
	flags.StringVar(&f.credentials, "api-server-credentials", apiserver.ServiceAccount,
		"`directory` with the files token and ca.crt, for an https:// API server")
	flags.BoolVar(&f.kinds, "kinds", false, "print the resources that --api-server lists, and exit")
	flags.BoolVar(&f.Reviews, "admission-review", false, "the input contains reviews as sent by kube-apiserver")
	flags.BoolVar(&f.Explain, "explain", false, "explain for each image and rule why it applies or does not apply")
	f.report.Define(flags, "the report", "")
	flags.Lookup("fail-on").Usage += ", and no-namespace objects whose namespace is unknown without -n"
	flags.IntVar(&f.report.Limit, "limit", listedObjects,
		"maximum number of objects that --as-existing lists; 0 lists all")
	flags.BoolVar(&f.reports, "reports", false,
		"write the findings to the --api-server as reports of "+strings.Join(reports.Groups(), " or "))
	flags.StringVar(&f.reportGroup, "reports-group", "",
		"API `group` of --reports; by default the first of these that the API server serves")
	flags.StringVar(&f.pushURL, "metrics-push-url", "",
		"`URL` of a Pushgateway that receives the counts of --as-existing, such as http://pushgateway.monitoring:9091")
	flags.StringVar(&f.metricsFile, "metrics-file", "",
		"`file` for the counts of --as-existing, in the Prometheus text format")
}

func (f *reviewFlags) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	options, err := f.options(stdin, stderr)
	if err != nil {
		return err
	}
	objects, err := f.inputFlags.read(stdin)
	if err != nil {
		return err
	}
	var client *apiserver.Client
	if f.server != "" {
		if client, err = apiserver.New(f.server, f.credentials); err != nil {
			return err
		}
		objects = client.Objects(ctx, false)
	}
	report := offline.Review(options, newProgress(stderr, time.Now).count(objects))
	if err := f.report.Write(stdout, "review", report); err != nil {
		return err
	}
	cli.Say(stderr, report.Errors...)
	if err := errors.Join(f.export(ctx, report, time.Now()), f.writeReports(ctx, client, report, stderr)); err != nil {
		return err
	}
	code := report.ExitCode()
	if f.report.FailOnWarnings() && report.Summary.Warned+report.Summary.Duplicates > 0 {
		code = cmp.Or(code, cli.Found)
	}
	return cli.Exit(code)
}

// check returns an error for missing or contradictory flags, because the result could otherwise be for another
// request than intended.
func (f *reviewFlags) check() error {
	return firstOf(
		mistake{f.report.Limit < 0, "--limit is negative: use a number from 1 up, or 0 for all"},
		mistake{f.policy == "", cli.ErrNoPolicy.Error()},
		mistake{
			f.server != "" && (!f.AsExisting || len(f.files) > 0),
			"--api-server lists existing objects: add --as-existing, and leave out -f",
		},
		mistake{f.reports && f.server == "", "--reports writes to an API server: add --api-server"},
		mistake{
			f.reportGroup != "" && (!f.reports || !slices.Contains(reports.Groups(), f.reportGroup)),
			"--reports-group is a group for --reports: use " + strings.Join(reports.Groups(), " or "),
		},
		mistake{len(f.files) == 0 && f.server == "", noManifests},
		stdinTwice(slices.Concat(f.files, f.old, []string{f.policy})...),
		mistake{
			f.AsExisting && (len(f.old) > 0 || f.Reviews),
			"--as-existing validates the current objects: leave out --old and --admission-review",
		},
		mistake{
			!f.AsExisting && (f.pushURL != "" || f.metricsFile != ""),
			"--metrics-push-url and --metrics-file count existing objects: add --as-existing",
		},
		mistake{
			f.Reviews && (len(f.old) > 0 || f.User != "" || len(f.Groups) > 0),
			"with --admission-review, the reviews contain these values: leave out --old, --user and --group",
		},
	)
}

func (f *reviewFlags) options(stdin io.Reader, stderr io.Writer) (offline.Options, error) {
	f.report.AllRows = f.report.Limit == 0
	o := f.Options
	var err error
	if o.Policy, err = loadPolicy(f.policy, stdin); err != nil {
		return o, err
	}
	if o.Old, err = offline.NewIndex(offline.Read(f.old, stdin), f.Namespace); err != nil {
		return o, fmt.Errorf("--old: %w", err)
	}
	o.Sets = o.Policy.SetsOf(f.Sets)
	o.NamespaceRequired = f.NamespaceAssumed && f.report.FailOn.Word == failOnNoNamespace
	return o, f.checkSets(stderr, o.Policy)
}

// writeReports writes the reports of --reports, and prints their numbers.
func (f *reviewFlags) writeReports(ctx context.Context, c *apiserver.Client, r *offline.Report, w io.Writer) error {
	if !f.reports {
		return nil
	}
	written, err := reports.Write(ctx, c, f.reportGroup, r)
	cli.Say(w, written.String())
	return err
}

// export writes and pushes the counts of an audit. If one fails, it still does the other.
func (f *reviewFlags) export(ctx context.Context, r *offline.Report, now time.Time) error {
	a := telemetry.NewAudit()
	for k, n := range r.Counts.Objects {
		a.Objects(k.Kind, k.Decision, n)
	}
	for k, n := range r.Counts.Findings {
		a.Findings(k.Namespace, k.Rule, k.Check, k.Mode, n)
	}
	for k, n := range r.Counts.Images {
		a.Images(k.Namespace, k.Entry, k.Outcome, n)
	}
	a.Ended(now, r.Policy.Hash, r.Summary.Errors)
	var errs []error
	if f.metricsFile != "" {
		errs = append(errs, a.WriteFile(f.metricsFile))
	}
	if f.pushURL != "" {
		errs = append(errs, a.Push(ctx, f.pushURL))
	}
	return errors.Join(errs...)
}
