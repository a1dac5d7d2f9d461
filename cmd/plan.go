package cmd

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/offline/plan"
	"github.com/evergate/evergate/policy"
)

// planFlags are the flags of evergate plan.
type planFlags struct {
	old        string
	new        string
	files      []string
	audit      bool
	fromRecord bool
	namespace  string
	assumed    bool // the namespace is the default
	user       string
	groups     []string
	sets       []string
	at         atFlag
	output     output.Flag
	limit      int
	all        bool
	failOn     choice
	text       *textFlags
	ignore     []string
}

// planGCPercent is the garbage collection percentage of a plan. A plan keeps only a few MiB, and with the default of
// 100 it would spend a fifth of its time on garbage collection.
const planGCPercent = 400

func newPlanCommand(env settings.Environment) *cobra.Command {
	f := planFlags{
		output: output.NewFlag(output.Values()...), text: newTextFlags(env, ""),
		failOn: newChoice(failOnNone, failOnNewlyDenied, failOnNewlyWarned, failOnAny),
	}
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

Plan reads one object at a time, and its memory does not grow with the input. Use a pipe for large inputs. With --all it
writes each object as soon as it is found, and the counts at the end.

Exit codes: 0 nothing matched --fail-on, 1 something matched, 2 bad flags, a bad policy, or input that cannot be read.`,
		Example: `  evergate plan --old policy.yaml --new next.yaml -f deploy/
  kubectl get pods -A -o json | evergate plan --old policy.yaml --new next.yaml -f - --from-record
  evergate plan --old policy.yaml --new next.yaml -f audit.log --audit --fail-on newly-denied`,
		Args: filesOf("filename"),
		RunE: func(c *cobra.Command, _ []string) error {
			f.assumed = !c.Flags().Changed("namespace")
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
	flags.StringArrayVarP(&f.files, "filename", "f", nil,
		"`file` or directory with objects, or - (stdin); repeatable")
	defineIgnore(flags, &f.ignore)
	flags.BoolVar(&f.audit, "audit", false, "the input is the audit log of an API server")
	flags.BoolVar(&f.fromRecord, "from-record", false, "validate Pods with the original images in their annotation")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of objects without a namespace")
	flags.StringVar(&f.user, "user", "", "user that creates the objects")
	flags.StringArrayVar(&f.groups, "group", nil, "a group of the user; repeatable")
	flags.StringArrayVar(&f.sets, "set", nil, "also apply this rule `set`, or * for all; repeatable")
	f.at.define(flags)
	flags.VarP(&f.output, "output", "o", f.output.Usage("the report"))
	flags.IntVar(&f.limit, "limit", listedObjects, "maximum number of listed objects")
	flags.BoolVar(&f.all, "all", false, "list all objects as soon as they are found, and the counts at the end")
	flags.Var(&f.failOn, "fail-on", "changes with exit code 1: none, newly-denied (objects, or Pods of workloads), "+
		"newly-warned (or newly denied), or any change")
	f.text.defineColor(flags)
	f.text.defineQuiet(flags)
}

func (f *planFlags) run(stdin io.Reader, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	options, err := f.options(stdin)
	if err != nil {
		return err
	}
	ignore, err := parseIgnore(f.ignore)
	if err != nil {
		return err
	}
	if sets := setsOf(options.Old, options.New); f.sets == nil && len(sets) > 0 {
		fmt.Fprintf(stderr, noSetEvaluated, text.List(sets))
	}
	colors := f.text.colors(stdout)
	stdout = f.text.writer(stdout)
	stream := plan.NewStream(stdout, f.output.Format(), colors)
	if f.all {
		options.Changed = stream.Object
	}
	p := plan.New(options)
	defer debug.SetGCPercent(debug.SetGCPercent(planGCPercent))
	p.AddAll(newProgress(stderr, time.Now).count(offline.ReadIgnoring(f.files, stdin, ignore)))
	report := p.Report()
	switch {
	case f.all:
		err = stream.End(report)
	case f.output.Format() == output.Text:
		err = report.WriteText(stdout, plan.TextOptions{Colors: colors})
	default:
		err = report.Write(stdout, f.output.Format())
	}
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return f.exit(report, stderr)
}

// exit writes the errors in the input, and returns the exit code as an error.
func (f *planFlags) exit(r *plan.Report, stderr io.Writer) error {
	for _, line := range r.Errors {
		printError(stderr, errors.New(line))
	}
	switch more := r.Summary.Errors - len(r.Errors); {
	case more > 0:
		return fmt.Errorf("and %s more errors in the input", text.Thousands(more))
	case r.Summary.Errors > 0:
		return &exitError{code: exitUsage}
	case f.fails(r):
		return &exitError{code: exitFound}
	}
	return nil
}

// check returns an error for missing or contradictory flags.
func (f *planFlags) check() error {
	stdins := 0
	for _, name := range slices.Concat(f.files, []string{f.old, f.new}) {
		if name == offline.Stdin {
			stdins++
		}
	}
	for _, mistake := range []struct {
		made bool
		what string
	}{
		{f.new == "", "no policy: add the new policy with --new, and the current policy with --old"},
		{len(f.files) == 0, "no objects: add a file, a directory or - for stdin"},
		{stdins > 1, "- (stdin) can be read only once: use files for the other inputs"},
		{f.limit < 0, "--limit is negative: use a number from 0 up, or --all"},
		{
			f.all && f.output.Format() == output.YAML,
			"--all writes objects as they are found, which YAML does not support: use -o json",
		},
		{
			f.audit && (f.user != "" || len(f.groups) > 0),
			"an audit log contains the user of each request: leave out --user and --group",
		},
	} {
		if mistake.made {
			return errors.New(mistake.what)
		}
	}
	return nil
}

func (f *planFlags) options(stdin io.Reader) (plan.Options, error) {
	o := plan.Options{
		Namespace: f.namespace, NamespaceAssumed: f.assumed, User: f.user, Groups: f.groups, Sets: f.sets, Now: f.at.time(),
		FromRecord: f.fromRecord, Events: f.audit, Limit: f.limit,
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
	return o, f.checkSets(setsOf(o.Old, o.New))
}

// setsOf returns the sorted names of all rule sets in the policies. A policy may be nil.
func setsOf(policies ...*policy.Policy) []string {
	var sets []string
	for _, p := range policies {
		if p != nil {
			sets = append(sets, p.Sets()...)
		}
	}
	slices.Sort(sets)
	return slices.Compact(sets)
}

// checkSets returns an error for names of rule sets that neither policy has.
func (f *planFlags) checkSets(known []string) error {
	for _, set := range f.sets {
		switch {
		case len(known) == 0:
			return fmt.Errorf("--set %s: the policies have no rule sets", text.Truncate(set, text.Short))
		case set != "*" && !slices.Contains(known, set):
			return fmt.Errorf("--set %s: neither policy has this rule set; they have %s", text.Truncate(set, text.Short),
				text.List(known))
		}
	}
	return nil
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
	switch f.failOn.word {
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
