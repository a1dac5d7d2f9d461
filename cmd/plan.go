package cmd

import (
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/offline/plan"
)

// planFlags are the flags of evergate plan.
type planFlags struct {
	old string
	new string
	inputFlags
	requestFlags
	audit  bool
	report *cli.Report
	limit  int
	all    bool
}

// planGCPercent is the garbage collection percentage of a plan. A plan keeps only a few MiB, and with the default of
// 100 it would spend a fifth of its time on garbage collection.
const planGCPercent = 400

func newPlanCommand(env settings.Environment) *cobra.Command {
	f := planFlags{report: cli.NewReport(env, failOnNone, failOnNewlyDenied, failOnNewlyWarned, failOnAny).WithoutCases()}
	c := &cobra.Command{
		Use:   "plan [--old POLICY] --new POLICY FILE...",
		Short: "Show which objects two policies decide differently",
		Long: `Plan evaluates objects with two policies, as review does, and reports the changes: objects that are newly
denied, newly allowed, newly warned about, no longer warned about, or rewritten differently. It prints counts by rule
and by namespace first, and then the objects. Without --old it compares the new policy with an empty policy.

Plan reads the same input as review: manifests, or a dump of a cluster, for example from kubectl get pods -A -o json. It
evaluates each object as if it were created. It leaves out Pods that have ended. Pods in a dump have already been
rewritten. With --from-record, plan uses the original images in their annotation instead. Tenants can edit this
annotation.

With --audit, plan reads the audit log of an API server: objects in create, update and patch requests, with the users
that sent them. For a patch it uses the object in the response, which needs audit level RequestResponse. It marks failed
requests and dry runs, and counts events without an object. See docs/plan.md.

Plan reads one object at a time, and its memory does not grow with the input, except with --all. Use a pipe for large
inputs.

Exit codes: 0 nothing matched --fail-on, 1 something matched, 2 bad flags, a bad policy, or input that cannot be read.`,
		Example: `  evergate plan --old policy.yaml --new next.yaml -f deploy/
  kubectl get pods -A -o json | evergate plan --old policy.yaml --new next.yaml -f - --from-record
  evergate plan --old policy.yaml --new next.yaml -f audit.log --audit --fail-on newly-denied`,
		Args: cli.FilesOf("filename"),
		RunE: func(c *cobra.Command, _ []string) error {
			f.NamespaceAssumed = !c.Flags().Changed("namespace")
			return f.run(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.define(c.Flags())
	return c
}

func (f *planFlags) define(flags *pflag.FlagSet) {
	flags.SortFlags = false
	const policyUsage = "`file` or directory, manifest of its ConfigMap, or - (stdin)"
	flags.StringVar(&f.old, "old", "", "the current policy: "+policyUsage+" (default: none)")
	flags.StringVar(&f.new, "new", "", "the new policy: "+policyUsage)
	f.inputFlags.define(flags)
	flags.BoolVar(&f.audit, "audit", false, "the input is the audit log of an API server")
	flags.BoolVar(&f.Recorded, "from-record", false, "validate Pods with the original images in their annotation")
	f.requestFlags.define(flags)
	flags.IntVar(&f.limit, "limit", listedObjects, "maximum number of listed objects")
	flags.BoolVar(&f.all, "all", false, "list all objects")
	f.report.Define(flags, "the report", "changes with exit code 1: none, newly-denied (objects, or Pods of workloads), "+
		"newly-warned (or newly denied), or any change")
}

func (f *planFlags) run(stdin io.Reader, stdout, stderr io.Writer) error {
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
	p := plan.New(options)
	defer debug.SetGCPercent(debug.SetGCPercent(planGCPercent))
	p.AddAll(newProgress(stderr, time.Now).count(objects))
	report := p.Report()
	if err := f.report.Write(stdout, "plan", report); err != nil {
		return err
	}
	cli.Say(stderr, report.Errors...)
	switch more := report.Summary.Errors - len(report.Errors); {
	case more > 0:
		return fmt.Errorf("and %s more errors in the input", text.Thousands(more))
	case report.Summary.Errors > 0:
		return cli.Exit(cli.Usage)
	case f.fails(report):
		return cli.Exit(cli.Found)
	}
	return nil
}

// check returns an error for missing or contradictory flags.
func (f *planFlags) check() error {
	return firstOf(
		mistake{f.new == "", "no policy: add the new policy with --new, and the current policy with --old"},
		mistake{len(f.files) == 0, noManifests},
		stdinTwice(slices.Concat(f.files, []string{f.old, f.new})...),
		mistake{f.limit < 0, "--limit is negative: use a number from 0 up, or --all"},
		mistake{
			f.audit && (f.User != "" || len(f.Groups) > 0),
			"an audit log contains the user of each request: leave out --user and --group",
		},
	)
}

func (f *planFlags) options(stdin io.Reader, stderr io.Writer) (plan.Options, error) {
	o := plan.Options{Options: f.Options, Events: f.audit, Limit: f.limit}
	if f.report.AllRows = f.all; f.all {
		o.Limit = math.MaxInt
	}
	var err error
	if o.New, err = loadPolicy(f.new, stdin); err != nil {
		return o, fmt.Errorf("--new: %w", err)
	}
	if f.old != "" {
		if o.Old, err = loadPolicy(f.old, stdin); err != nil {
			return o, fmt.Errorf("--old: %w", err)
		}
	}
	return o, f.checkSets(stderr, o.Old, o.New)
}

// The words for --fail-on of evergate plan. Each includes the words before it.
const (
	failOnNone        = "none"
	failOnNewlyDenied = "newly-denied"
	failOnNewlyWarned = "newly-warned"
	failOnAny         = "any"
)

// fails reports whether a report contains a change for which the command fails.
func (f *planFlags) fails(r *plan.Report) bool {
	switch f.report.FailOn.Word {
	case failOnNewlyDenied:
		return r.Denies()
	case failOnNewlyWarned:
		return r.Denies() || r.Warns()
	case failOnAny:
		return r.Changes()
	default:
		return false
	}
}
