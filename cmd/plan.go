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

	"github.com/evergate/evergate/internal/output"
	"github.com/evergate/evergate/internal/settings"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/plan"
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
	user       string
	groups     []string
	sets       []string
	at         atFlag
	output     output.Flag
	limit      int
	all        bool
	failOn     planFailure
	text       *textFlags
	ignore     []string
}

// planGCPercent is how much garbage a plan makes before it is collected, in percent of what it keeps, which is a few
// mebibytes: a fifth of its time goes into collecting at the usual 100.
const planGCPercent = 400

func newPlanCommand(env settings.Environment) *cobra.Command {
	f := planFlags{output: output.NewFlag(output.Values()...), text: newTextFlags(env, ""), failOn: failOnNone}
	c := &cobra.Command{
		Use:   "plan [--old POLICY] --new POLICY -f FILE",
		Short: "Say what changes for objects when one policy takes the place of another",
		Long: `Plan judges objects by two policies, as review does, and says what changes: what is newly denied, newly
allowed, newly warned of or no longer, and rewritten otherwise; first in numbers, by rule and by namespace, and then
object by object. Without --old the new policy is compared with none.

It reads what review reads: manifests, and the dump of a cluster, as kubectl get pods -A -o json prints it. Each object
is judged as if it were created. Pods that have ended are left out. Pods of a dump were rewritten already: with
--from-record they are judged by the original images in their annotation, which tenants may write.

With --audit it reads the audit log of an API server: the objects of requests that were created, updated or patched,
as they were sent, by the user that sent them. A patch is judged by the object in its answer, at level RequestResponse.
Requests that were refused, and dry runs, are marked. Events without an object are counted: docs/plan.md.

It reads object by object, and what it keeps does not grow with the input: pipe into it what is large. --all writes
each object as it is found, and the numbers last.

Exit codes: 0 nothing that --fail-on names, 1 something of it, 2 bad flags, a bad policy, or input that is not
understood.`,
		Example: `  evergate plan --old policy.yaml --new next.yaml -f deploy/
  kubectl get pods -A -o json | evergate plan --old policy.yaml --new next.yaml -f - --from-record
  evergate plan --old policy.yaml --new next.yaml -f audit.log --audit --fail-on newly-denied`,
		Args: noArgs("name objects with -f"),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.define(c.Flags())
	return c
}

func (f *planFlags) define(flags *pflag.FlagSet) {
	flags.SortFlags = false
	const policyUsage = "`file` or directory, manifest of its ConfigMap, or - (stdin)"
	flags.StringVar(&f.old, "old", "", "the policy in force: "+policyUsage+" (default: none)")
	flags.StringVar(&f.new, "new", "", "the policy that takes its place: "+policyUsage)
	flags.StringArrayVarP(&f.files, "filename", "f", nil,
		"`file` or directory of objects, or - (stdin); can be repeated")
	defineIgnore(flags, &f.ignore)
	flags.BoolVar(&f.audit, "audit", false, "the input is the audit log of an API server")
	flags.BoolVar(&f.fromRecord, "from-record", false, "judge Pods by the original images in their annotation")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of objects that name none")
	flags.StringVar(&f.user, "user", "", "user that creates the objects")
	flags.StringArrayVar(&f.groups, "group", nil, "a group that the user is in; can be repeated")
	flags.StringArrayVar(&f.sets, "set", nil, "judge by the rules of this `set` too, * for all; can be repeated")
	f.at.define(flags)
	flags.VarP(&f.output, "output", "o", f.output.Usage("the report"))
	flags.IntVar(&f.limit, "limit", listedObjects, "how many objects are listed")
	flags.BoolVar(&f.all, "all", false, "list all objects, each as it is found, before the numbers")
	flags.Var(&f.failOn, "fail-on", "what ends with exit code 1: none, newly-denied (objects, or Pods of workloads), "+
		"newly-warned (these too), or any change")
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
	p.AddAll(newProgress(stderr, time.Now).count(offline.ReadOnce(f.files, stdin, ignore)))
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

// exit writes the errors of the input, and returns the exit code as an error.
func (f *planFlags) exit(r *plan.Report, stderr io.Writer) error {
	for _, line := range r.Errors {
		printError(stderr, errors.New(line))
	}
	switch more := r.Summary.Errors - len(r.Errors); {
	case more > 0:
		return fmt.Errorf("and %s more errors in the input", text.Thousands(more))
	case r.Summary.Errors > 0:
		return &exitError{code: exitUsage}
	case f.failOn.fails(r):
		return &exitError{code: exitFound}
	}
	return nil
}

// check refuses flags that contradict each other.
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
		{f.new == "", "what does which policy change? name its file or directory with --new, and that in force with --old"},
		{len(f.files) == 0, "plan for what? name objects with -f FILE, -f DIRECTORY or -f - for stdin"},
		{stdins > 1, "- (stdin) can be read only once: write what else there is into a file"},
		{f.limit < 0, "--limit is negative: write how many objects to list, or --all"},
		{
			f.all && f.output.Format() == output.YAML,
			"--all writes objects as they are found, and YAML in one piece: write -o json",
		},
		{
			f.audit && (f.user != "" || len(f.groups) > 0),
			"an audit log says who sent each object: leave out --user and --group",
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
		Namespace: f.namespace, User: f.user, Groups: f.groups, Sets: f.sets, Now: f.at.time(),
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

// setsOf returns the names of the sets of policies, of which one may be nil, sorted.
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

// checkSets refuses names of sets that neither policy has.
func (f *planFlags) checkSets(known []string) error {
	for _, set := range f.sets {
		switch {
		case len(known) == 0:
			return fmt.Errorf("--set %s: no rule of the policies is in a set", text.Truncate(set, text.Short))
		case set != "*" && !slices.Contains(known, set):
			return fmt.Errorf("--set %s: neither policy has such a set; there is %s", text.Truncate(set, text.Short),
				text.List(known))
		}
	}
	return nil
}

// planFailure is what evergate plan fails for.
type planFailure string

// What it may fail for, each with those before it.
const (
	failOnNone        planFailure = "none"
	failOnNewlyDenied planFailure = "newly-denied"
	failOnNewlyWarned planFailure = "newly-warned"
	failOnAny         planFailure = "any"
)

// fails reports whether a report has it.
func (f *planFailure) fails(r *plan.Report) bool {
	switch *f {
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

// Set accepts the words.
func (f *planFailure) Set(name string) error {
	switch failure := planFailure(name); failure {
	case failOnNone, failOnNewlyDenied, failOnNewlyWarned, failOnAny:
		*f = failure
		return nil
	}
	return fmt.Errorf("%s is not known: write none, newly-denied, newly-warned or any", text.Quote(name))
}

// String returns the word.
func (f *planFailure) String() string { return string(*f) }

// Type is what stands for a value in the help.
func (f *planFailure) Type() string { return "none|newly-denied|newly-warned|any" }
