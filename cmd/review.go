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

	"github.com/evergate/evergate/internal/apiserver"
	"github.com/evergate/evergate/internal/output"
	"github.com/evergate/evergate/internal/settings"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// reviewFlags are the flags of evergate review.
type reviewFlags struct {
	policy     string
	files      []string
	old        []string
	operation  string
	namespace  string
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

// listedObjects is how many objects an audit lists unless --limit says otherwise: of a cluster with 27,000 objects the
// whole list had 170,402 lines, which nobody reads.
const listedObjects = 100

// noSetEvaluated is written on stderr where a policy has sets and no flag names one.
const noSetEvaluated = "evergate: no rule of the sets %s is evaluated: add --set NAME, or --set '*' for all\n"

func newReviewCommand(env settings.Environment) *cobra.Command {
	f := reviewFlags{output: output.NewFlag(output.All()...), text: newTextFlags(env, failOnDenied)}
	c := &cobra.Command{
		Use:   "review --policy POLICY -f FILE",
		Short: "Say what a policy would rewrite, deny and warn of, without a cluster",
		Long: `Review judges manifests by a policy, with the code that answers kube-apiserver: what would be rewritten,
denied and warned of if they were applied. It reads YAML of any number of documents, JSON, and Lists as kubectl prints
them. Of a directory, files of Helm charts, templates, patches of kustomizations and what --ignore or a file
.evergateignore names are skipped, and counted.

Pods, Ingresses and Services are judged; of Deployments, StatefulSets, DaemonSets, ReplicaSets,
ReplicationControllers, Jobs, CronJobs and PodTemplates the Pods that they would create. Labels that only a controller
adds are not known. Other objects are skipped, and said to be.

With --as-existing it judges what a cluster holds already: what would be denied now, and what runs from outside the
mirrors, by namespace and owner, with counts by rule and by namespace. All namespaces of the input are judged, whether
they have opted in or not. Pods that have ended and mirror Pods of static Pods are left out. With --api-server it lists
by itself all kinds that are judged and that the API server serves, and says which it does not serve. The counts can be
pushed to a Pushgateway, or written to a file for the node exporter: docs/audit.md.

Exceptions of the policy end by date: --at judges as if it were another. What they exempt stands in the report with -o
json, and in its text with --explain.

Workloads (Deployments, Jobs, custom resources in templates of the policy) are judged by their templates. One that a
cluster would store with a warning, and whose Pods it would refuse, is podsRefused in JSON.

Exit codes: 0 all is allowed, 1 something is denied, or its Pods would be, or with --fail-on warn is warned of, 2 bad
flags, a bad policy, input that is not understood, or counts that could not be handed on.`,
		Example: `  evergate review --policy policy.yaml -f deploy/
  helm template chart | evergate review --policy policy.yaml -f - --explain
  evergate review --policy policy.yaml -f deploy/ --set edge
  kubectl get pods -A -o json | evergate review --policy policy.yaml -f - --as-existing
  kubectl proxy & evergate review --policy policy.yaml --as-existing --api-server http://127.0.0.1:8001`,
		Args: noArgs("name manifests with -f"),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.kinds {
				_, err := fmt.Fprintln(c.OutOrStdout(), strings.Join(apiserver.Resources(), "\n"))
				return err
			}
			return f.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.policy, "policy", "p", "",
		"`file` or directory of the policy, manifest of its ConfigMap, or - (stdin)")
	flags.StringArrayVarP(&f.files, "filename", "f", nil,
		"`file` or directory of manifests, or - (stdin); can be repeated")
	defineIgnore(flags, &f.ignore)
	flags.StringArrayVar(&f.old, "old", nil, "`file` or directory of the objects as they were; can be repeated")
	flags.StringVar(&f.operation, "operation", "", "CREATE or UPDATE (default: UPDATE for what --old has, else CREATE)")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of objects that name none")
	flags.StringVar(&f.user, "user", "", "user that applies the manifests")
	flags.StringArrayVar(&f.groups, "group", nil, "a group that the user is in; can be repeated")
	flags.StringArrayVar(&f.sets, "set", nil, "judge by the rules of this `set` too, * for all; can be repeated")
	flags.BoolVar(&f.asExisting, "as-existing", false, "judge objects as they exist in a cluster")
	f.cluster.define(flags)
	flags.BoolVar(&f.kinds, "kinds", false, "print the resources that --api-server lists, and exit")
	flags.BoolVar(&f.reviews, "admission-review", false, "the input is reviews, as kube-apiserver sends them")
	flags.BoolVar(&f.explain, "explain", false, "say for each image and rule why it applies or not")
	f.at.define(flags)
	flags.VarP(&f.output, "output", "o", f.output.Usage("the report"))
	f.text.define(flags)
	flags.IntVar(&f.limit, "limit", listedObjects, "how many objects --as-existing lists, and 0 for all")
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

// write writes the report in the form that was asked for.
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

// check refuses flags that contradict each other, rather than to judge something else than was meant.
func (f *reviewFlags) check() error {
	update := f.operation == string(policy.Update)
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
		{f.limit < 0, "--limit is negative: write how many objects to list, or 0 for all"},
		{f.policy == "", "which policy? name its file or directory with --policy"},
		{
			f.cluster.wanted() && (!f.asExisting || len(f.files) > 0),
			"--api-server lists what a cluster holds: add --as-existing, and leave out -f",
		},
		{
			len(f.files) == 0 && !f.cluster.wanted(),
			"review what? name manifests with -f FILE, -f DIRECTORY or -f - for stdin",
		},
		{stdins > 1, "- (stdin) can be read only once: write what else there is into a file"},
		{
			f.operation != "" && f.operation != string(policy.Create) && !update,
			fmt.Sprintf("--operation %q is not judged by any webhook of Evergate: write CREATE or UPDATE", f.operation),
		},
		{update && len(f.old) == 0, "--operation UPDATE needs the objects as they were: name them with --old"},
		{
			f.operation == string(policy.Create) && len(f.old) > 0,
			"--operation CREATE knows no object as it was: leave out --old, or --operation",
		},
		{
			f.asExisting && (len(f.old) > 0 || f.operation != "" || f.reviews),
			"--as-existing judges objects as they are: leave out --old, --operation and --admission-review",
		},
		{
			!f.asExisting && f.counts.wanted(),
			"--metrics-push-url and --metrics-file count what a cluster holds: add --as-existing",
		},
		{
			f.reviews && (len(f.old) > 0 || f.operation != "" || f.user != "" || len(f.groups) > 0),
			"with --admission-review the reviews say who does what: leave out --old, --operation, --user and --group",
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
		Policy: p, Old: old, Operation: policy.Operation(f.operation),
		Namespace: f.namespace, User: f.user, Groups: f.groups,
		Sets: sets, AsExisting: f.asExisting, Reviews: f.reviews, Explain: f.explain,
		Now: f.at.time(),
	}, nil
}

// setsOf returns the sets of a policy that --set names.
func (f *reviewFlags) setsOf(p *policy.Policy) ([]string, error) {
	known := p.Sets()
	for _, set := range f.sets {
		switch {
		case len(known) == 0:
			return nil, fmt.Errorf("--set %s: no rule of the policy is in a set", text.Truncate(set, text.Short))
		case set == "*":
			return known, nil
		case !slices.Contains(known, set):
			return nil, fmt.Errorf("--set %s: the policy has no such set; it has %s", text.Truncate(set, text.Short),
				text.List(known))
		}
	}
	return f.sets, nil
}
