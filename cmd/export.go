package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// exitOmitted is the exit code if export --best-effort has left something out.
const exitOmitted = 1

// exportFlags are the flags of evergate export.
type exportFlags struct {
	policies    []string
	targets     []string
	exempt      []string
	breakGlass  string
	bestEffort  bool
	coverage    bool
	unrewritten bool
	conditions  bool
	at          atFlag
}

func newExportCommand() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export --target TARGET POLICY...",
		Short: "Convert a policy to native policies of the API server or to a node configuration",
		Long: `Export converts a policy to formats that work even if no replica of Evergate is running: native admission
policies, which the API server evaluates itself, or the configuration of a container runtime. If a part of the policy
cannot be converted exactly, export does not write anything, and reports the file, the line, the reason and a solution.
With --best-effort it writes the other parts, with a comment for each part that it leaves out.

--coverage prints the protection that is lost without the webhooks: a line for each entry, or for each cause that
affects several entries. --webhook-conditions prints patches for the base manifests. The patches disable the webhooks
that the exported policies replace. docs/native.md describes the targets and their limits.

CEL, the API server's language, has no clock, so export leaves out parts of the policy that end on a date. Export
again after that date. Parts that have ended do not prevent the export.

Targets, separated by commas:
` + targetList() + `
Several values are parts of one policy: files, directories, the manifest of its ConfigMap, or - for
standard input.

Exit codes: 0 everything was written, 1 something was left out (only with --best-effort), 2 something cannot be
exported, or the policy is not valid or cannot be read.`,
		Example: "  evergate export --target vap,map policy.yaml >backstop.yaml\n" +
			"  evergate export --target vap,map --webhook-conditions policy.yaml >conditions.yaml\n" +
			"  evergate export --target vap --coverage policy.yaml",
		Args: filesOf("policy"),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.define(c.Flags())
	return c
}

// targetList describes the targets, one per line.
func targetList() string {
	var b strings.Builder
	for _, t := range export.Targets() {
		fmt.Fprintf(&b, "  %-16s%s\n", t.Name, t.Does)
	}
	return b.String()
}

func (f *exportFlags) define(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.policies, "policy", "p", nil,
		"`file` or directory of the policy, the manifest of its ConfigMap, or - (stdin); repeatable")
	flags.StringArrayVar(&f.targets, "target", nil, "the output formats, separated by commas or repeated")
	flags.StringArrayVar(&f.exempt, "exempt-namespace", export.ExemptNamespaces(),
		"namespaces that are never matched; the first must be Evergate's namespace; repeatable; replaces the default "+
			"list")
	flags.StringVar(&f.breakGlass, "break-glass-group", "evergate:break-glass",
		"the group that may delete and change the objects that the target static protects")
	flags.BoolVar(&f.bestEffort, "best-effort", false,
		"write everything that can be exported, with a comment for each part that cannot")
	flags.BoolVar(&f.coverage, "coverage", false,
		"print the protection that is lost without the webhooks, and do not write policies")
	flags.BoolVar(&f.conditions, "webhook-conditions", false,
		"print patches that disable the webhooks that the exported policies replace, and do not write policies")
	flags.BoolVar(&f.unrewritten, "deny-unrewritten", false,
		"export from: mirrors even without the target map. Pods that no webhook has rewritten are then denied")
	f.at.define(flags)
}

func (f *exportFlags) run(stdin io.Reader, stdout, stderr io.Writer) error {
	if len(f.policies) == 0 {
		return errNoPolicy
	}
	var files []policy.File
	for _, path := range f.policies {
		more, err := readPolicy(path, stdin)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	options, err := f.options()
	if err != nil {
		return err
	}
	p, err := policy.Load(files...)
	if err != nil {
		return err
	}
	if p.Emptied() {
		return policy.ErrEmptied
	}
	doc, err := policy.Describe(files...)
	if err != nil {
		return err
	}
	options.Hash = p.Hash()
	if f.conditions {
		return writeConditions(stdout, export.WebhookUses(doc, options), options.Hash)
	}
	return f.write(export.Export(doc, options), stdout, stderr)
}

// options validates the flags and returns the options.
func (f *exportFlags) options() (export.Options, error) {
	o := export.Options{
		DenyUnrewritten: f.unrewritten, Exempt: f.exempt, BreakGlass: f.breakGlass, Now: f.at.time(),
	}
	if len(f.targets) == 0 {
		return o, errors.New("no target: add a target, for example --target vap,map")
	}
	var known []string
	for _, t := range export.Targets() {
		known = append(known, string(t.Name))
	}
	for name := range strings.SplitSeq(strings.Join(f.targets, ","), ",") {
		if !slices.Contains(known, name) {
			return o, fmt.Errorf("unknown --target %s: use %s", text.Quote(name), text.List(known))
		}
		o.Targets = append(o.Targets, export.Target(name))
	}
	if f.conditions && f.coverage {
		return o, errors.New("--coverage and --webhook-conditions exclude each other: leave one out")
	}
	if f.breakGlass == "" {
		return o, errors.New("--break-glass-group is empty: set the group that may change the enforcement of the policy")
	}
	if len(f.exempt) == 0 || f.exempt[0] == "" {
		return o, errors.New("--exempt-namespace is empty: add at least Evergate's namespace")
	}
	return o, nil
}

// write writes the result, or returns the reasons why nothing can be written.
func (f *exportFlags) write(r export.Result, stdout, stderr io.Writer) error {
	if f.coverage {
		for _, line := range r.Report() {
			if _, err := fmt.Fprintln(stdout, line); err != nil {
				return err
			}
		}
		return nil
	}
	var omissions []error
	for _, omission := range r.Omissions {
		omissions = append(omissions, errors.New(omission.String()))
	}
	if len(omissions) > 0 && !f.bestEffort {
		return errors.Join(omissions...)
	}
	manifests, err := r.Text()
	if err != nil {
		return err
	}
	if _, err := stdout.Write(manifests); err != nil {
		return err
	}
	if len(omissions) > 0 {
		printError(stderr, errors.Join(omissions...))
		return &exitError{code: exitOmitted}
	}
	return nil
}

// writeConditions writes patches that disable the webhooks that the exported policies replace.
func writeConditions(to io.Writer, uses []export.WebhookUse, hash string) error {
	patches, err := export.ConditionPatches(uses, hash)
	if err != nil {
		return err
	}
	_, err = to.Write(patches)
	return err
}
