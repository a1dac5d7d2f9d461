package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/apiserver"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// reviewFlags are the flags of evergate review.
type reviewFlags struct {
	policy     string
	files      []string
	old        []string
	operation  string
	namespace  string
	assumed    bool // the namespace is the default
	user       string
	groups     []string
	sets       []string
	asExisting bool
	cluster    clusterFlags
	reviews    bool
	explain    bool
	at         atFlag
	output     output.Flag
	counts     countFlags
	text       *textFlags
	ignore     []string
	limit      int
	kinds      bool
}

// listedObjects is the default number of objects that an audit lists. For a cluster with 27,000 objects, the complete
// list had 170,402 lines, which is more than anyone reads.
const listedObjects = 100

// noSetEvaluated is written to stderr if a policy has rule sets and --set is not used.
const noSetEvaluated = "evergate: the rule sets %s are not evaluated: add --set NAME, or --set '*' for all\n"

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
Review can push the counts to a Pushgateway, or write them to a file for the node exporter. See docs/audit.md.

Without --user, review leaves out and counts mirror Pods of static Pods. Review can't check whether a node created them,
and a tenant can write the same annotation.

Exceptions in a policy end on a date. Use --at to evaluate the policy at another date. With -o json or --explain, the
report contains findings that an exception silences.

Exit codes: 0 all objects are allowed, 1 an object or its Pods would be denied (with --fail-on warn also if there is a
warning), 2 bad flags, a bad policy, input that cannot be read, or counts that could not be written or pushed.`

func newReviewCommand(env settings.Environment) *cobra.Command {
	f := reviewFlags{output: output.NewFlag(output.All()...), text: newTextFlags(env, failOnDenied)}
	f.text.failOn.known = append(f.text.failOn.known, failOnNoNamespace)
	c := &cobra.Command{
		Use:   "review --policy POLICY -n NAMESPACE FILE...",
		Short: "Show which objects a policy would rewrite, deny or warn about, without a cluster",
		Long:  reviewHelp,
		Example: `  evergate review --policy policy.yaml -n team-a deploy/
  helm template chart -n team-a | evergate review --policy policy.yaml -n team-a -f - --explain
  evergate review --policy policy.yaml -f deploy/ --set edge
  kubectl get pods -A -o json | evergate review --policy policy.yaml -f - --as-existing
  kubectl proxy & evergate review --policy policy.yaml --as-existing --api-server http://127.0.0.1:8001`,
		Args: filesOf("filename"),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.kinds {
				_, err := fmt.Fprintln(c.OutOrStdout(), strings.Join(apiserver.Resources(), "\n"))
				return err
			}
			f.assumed = !c.Flags().Changed("namespace")
			return f.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	definePolicy(flags, &f.policy)
	flags.StringArrayVarP(&f.files, "filename", "f", nil,
		"`file` or directory with manifests, or - (stdin); repeatable")
	defineIgnore(flags, &f.ignore)
	flags.StringArrayVar(&f.old, "old", nil, "`file` or directory with the objects before the update; repeatable")
	flags.StringVar(&f.operation, "operation", "",
		"CREATE or UPDATE (default: UPDATE for objects in --old, CREATE for others)")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of objects without a namespace")
	flags.StringVar(&f.user, "user", "", "user that applies the manifests")
	flags.StringArrayVar(&f.groups, "group", nil, "a group of the user; repeatable")
	flags.StringArrayVar(&f.sets, "set", nil, "also apply this rule `set`, or * for all; repeatable")
	flags.BoolVar(&f.asExisting, "as-existing", false, "validate objects that already exist in a cluster")
	f.cluster.define(flags)
	flags.BoolVar(&f.kinds, "kinds", false, "print the resources that --api-server lists, and exit")
	flags.BoolVar(&f.reviews, "admission-review", false, "the input contains reviews as sent by kube-apiserver")
	flags.BoolVar(&f.explain, "explain", false, "explain for each image and rule why it applies or does not apply")
	f.at.define(flags)
	flags.VarP(&f.output, "output", "o", f.output.Usage("the report"))
	f.text.define(flags)
	flags.Lookup("fail-on").Usage += ", and no-namespace objects whose namespace is unknown without -n"
	flags.IntVar(&f.limit, "limit", listedObjects, "maximum number of objects that --as-existing lists; 0 lists all")
	f.counts.define(flags)
	return c
}

func (f *reviewFlags) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	options, err := f.options(stdin)
	if err != nil {
		return err
	}
	if f.sets == nil && len(options.Policy.Sets()) > 0 {
		fmt.Fprintf(stderr, noSetEvaluated, text.List(options.Policy.Sets()))
	}
	ignore, err := parseIgnore(f.ignore)
	if err != nil {
		return err
	}
	objects := offline.ReadIgnoring(f.files, stdin, ignore)
	if f.cluster.wanted() {
		if objects, err = f.cluster.objects(ctx); err != nil {
			return err
		}
	}
	report := offline.Review(options, newProgress(stderr, time.Now).count(objects))
	if err := f.write(stdout, report); err != nil {
		return err
	}
	for _, line := range report.Errors {
		printError(stderr, errors.New(line))
	}
	if err := f.counts.export(ctx, report, time.Now()); err != nil {
		return err
	}
	if code := report.ExitCode(); code != exitOK {
		return &exitError{code: code}
	}
	if f.text.failOnWarnings() && report.Summary.Warned > 0 {
		return &exitError{code: exitFound}
	}
	return nil
}

// write writes the report in the requested format.
func (f *reviewFlags) write(stdout io.Writer, r *offline.Report) error {
	colors := f.text.colors(stdout)
	stdout = f.text.writer(stdout)
	if format := f.output.Format(); format != output.Text {
		about := output.Report{Command: "review", FailOnWarnings: f.text.failOnWarnings()}
		return writeReport(stdout, format, r, about, r.Cases)
	}
	o := offline.TextOptions{Colors: colors, OnlyFailures: f.text.onlyFailures, Warnings: f.text.failOnWarnings()}
	if f.asExisting {
		o.Limit = f.limit
	}
	if err := r.WriteText(stdout, o); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// check returns an error for missing or contradictory flags, because the result could otherwise be for another
// request than intended.
func (f *reviewFlags) check() error {
	update := f.operation == string(object.Update)
	stdins := 0
	for _, name := range slices.Concat(f.files, f.old, []string{f.policy}) {
		if name == offline.Stdin {
			stdins++
		}
	}
	for _, mistake := range []struct {
		made bool
		what string
	}{
		{f.limit < 0, "--limit is negative: use a number from 1 up, or 0 for all"},
		{f.policy == "", errNoPolicy.Error()},
		{
			f.cluster.wanted() && (!f.asExisting || len(f.files) > 0),
			"--api-server lists existing objects: add --as-existing, and leave out -f",
		},
		{
			len(f.files) == 0 && !f.cluster.wanted(),
			noManifests,
		},
		{stdins > 1, "- (stdin) can be read only once: use files for the other inputs"},
		{
			f.operation != "" && f.operation != string(object.Create) && !update,
			fmt.Sprintf("--operation %q is not supported: use CREATE or UPDATE", f.operation),
		},
		{update && len(f.old) == 0, "--operation UPDATE needs the old objects: add them with --old"},
		{
			f.operation == string(object.Create) && len(f.old) > 0,
			"--operation CREATE does not have old objects: leave out --old or --operation",
		},
		{
			f.asExisting && (len(f.old) > 0 || f.operation != "" || f.reviews),
			"--as-existing validates the current objects: leave out --old, --operation and --admission-review",
		},
		{
			!f.asExisting && f.counts.wanted(),
			"--metrics-push-url and --metrics-file count existing objects: add --as-existing",
		},
		{
			f.reviews && (len(f.old) > 0 || f.operation != "" || f.user != "" || len(f.groups) > 0),
			"with --admission-review, the reviews contain these values: leave out --old, --operation, --user and --group",
		},
	} {
		if mistake.made {
			return errors.New(mistake.what)
		}
	}
	return nil
}

func (f *reviewFlags) options(stdin io.Reader) (offline.Options, error) {
	p, err := loadPolicy(f.policy, stdin)
	if err != nil {
		return offline.Options{}, err
	}
	old, err := offline.NewIndex(offline.Read(f.old, stdin), f.namespace)
	if err != nil {
		return offline.Options{}, fmt.Errorf("--old: %w", err)
	}
	sets, err := f.setsOf(p)
	if err != nil {
		return offline.Options{}, err
	}
	return offline.Options{
		Policy: p, Old: old, Operation: object.Operation(f.operation),
		Namespace: f.namespace, NamespaceAssumed: f.assumed,
		NamespaceRequired: f.assumed && f.text.failOn.word == failOnNoNamespace,
		User:              f.user, Groups: f.groups,
		Sets: sets, AsExisting: f.asExisting, Reviews: f.reviews, Explain: f.explain,
		Now: f.at.time(),
	}, nil
}

// setsOf returns the rule sets of a policy that --set selects.
func (f *reviewFlags) setsOf(p *policy.Policy) ([]string, error) {
	known := p.Sets()
	for _, set := range f.sets {
		switch {
		case len(known) == 0:
			return nil, fmt.Errorf("--set %s: the policy has no rule sets", text.Truncate(set, text.Short))
		case set == "*":
			return known, nil
		case !slices.Contains(known, set):
			return nil, fmt.Errorf("--set %s: the policy does not have this rule set; it has %s", text.Truncate(set, text.Short),
				text.List(known))
		}
	}
	return f.sets, nil
}
