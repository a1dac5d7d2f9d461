package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/export"
	"github.com/evergate/evergate/policy"
)

// exitRefused says that export --best-effort has left something out.
const exitRefused = 1

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
}

func newExportCommand() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export --target TARGET --policy POLICY",
		Short: "Write a policy as native policies of the API server, or as a configuration of nodes",
		Long: `Export writes what a policy says in a language that holds without a replica of Evergate: native admission
policies of Kubernetes, which the API server evaluates itself, or the configuration of a container runtime. What cannot
be said exactly is refused, with file, line, reason and what to do instead, and nothing is written; with --best-effort
the rest is, with a comment for each refusal. --coverage prints instead, entry by entry, what is native and what only a
webhook does. --webhook-conditions prints instead patches of the kit by which webhooks are not called for what the
exported policies do. Which target is for whom, and what each does not do: docs/native.md.

Targets, of which several can be named:
` + targetList() + `
Several --policy are one policy together: files, directories, the manifest of its ConfigMap, or - for standard input.

Exit codes: 0 written, 1 with --best-effort: something was left out, 2 refused, or the policy is not valid or cannot be
read.`,
		Example: "  evergate export --target vap,map --policy policy.yaml >backstop.yaml\n" +
			"  evergate export --target vap,map --webhook-conditions --policy policy.yaml >conditions.yaml\n" +
			"  evergate export --target vap --coverage --policy policy.yaml",
		Args: noArgs("name the policy with --policy"),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.define(c.Flags())
	return c
}

// targetList describes the targets, a line each.
func targetList() string {
	var b strings.Builder
	for _, t := range export.Targets() {
		fmt.Fprintf(&b, "  %-16s%s\n", t.Name, t.Does)
	}
	return b.String()
}

func (f *exportFlags) define(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.policies, "policy", "p", nil, "`file` or directory of the policy, manifest of its ConfigMap, "+
		"or - (stdin); can be repeated")
	flags.StringArrayVar(&f.targets, "target", nil, "what to write; several with a comma between them, or repeated")
	flags.StringArrayVar(&f.exempt, "exempt-namespace", export.ExemptNamespaces(),
		"a namespace that is never matched, Evergate's own first; repeated, it replaces the whole list")
	flags.StringVar(&f.breakGlass, "break-glass-group", "evergate:break-glass",
		"the group that may delete and change what the target static protects")
	flags.BoolVar(&f.bestEffort, "best-effort", false, "write what can be said, with a comment for each refusal")
	flags.BoolVar(&f.coverage, "coverage", false, "print what of each entry is native, and write nothing else")
	flags.BoolVar(&f.conditions, "webhook-conditions", false,
		"print patches by which the kit's webhooks are not called for what is exported, and write nothing else")
	flags.BoolVar(&f.unrewritten, "deny-unrewritten", false,
		"export from: mirrors also without the target map: Pods that no webhook has rewritten are then denied")
}

func (f *exportFlags) run(stdin io.Reader, stdout, stderr io.Writer) error {
	if len(f.policies) == 0 {
		return errors.New("which policy? name its file or directory with --policy")
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

// options checks what the flags say.
func (f *exportFlags) options() (export.Options, error) {
	o := export.Options{DenyUnrewritten: f.unrewritten, Exempt: f.exempt, BreakGlass: f.breakGlass}
	if len(f.targets) == 0 {
		return o, errors.New("export to what? name a target, as in --target vap,map")
	}
	for name := range strings.SplitSeq(strings.Join(f.targets, ","), ",") {
		if !slices.ContainsFunc(export.Targets(), func(t export.TargetInfo) bool { return string(t.Name) == name }) {
			return o, fmt.Errorf("--target %q is not known: see evergate export --help", name)
		}
		o.Targets = append(o.Targets, export.Target(name))
	}
	if f.conditions && f.coverage {
		return o, errors.New("--coverage and --webhook-conditions are two reports: name one")
	}
	if f.breakGlass == "" {
		return o, errors.New("--break-glass-group is empty: name the group that may change what enforces the policy")
	}
	if len(f.exempt) == 0 || f.exempt[0] == "" {
		return o, errors.New("--exempt-namespace is empty: name Evergate's own namespace at least")
	}
	return o, nil
}

// write writes the result, or why there is none.
func (f *exportFlags) write(r export.Result, stdout, stderr io.Writer) error {
	if f.coverage {
		for _, c := range r.Coverage {
			if _, err := fmt.Fprintln(stdout, c); err != nil {
				return err
			}
		}
		return nil
	}
	var refusals []error
	for _, refusal := range r.Refusals {
		refusals = append(refusals, errors.New(refusal.String()))
	}
	if len(refusals) > 0 && !f.bestEffort {
		return errors.Join(refusals...)
	}
	manifests, err := r.Text()
	if err != nil {
		return err
	}
	if _, err := stdout.Write(manifests); err != nil {
		return err
	}
	if len(refusals) > 0 {
		printError(stderr, errors.Join(refusals...))
		return &exitError{code: exitRefused}
	}
	return nil
}

// writeConditions writes patches by which webhooks are not called for what is exported.
func writeConditions(to io.Writer, uses []export.WebhookUse, hash string) error {
	patches, err := export.ConditionPatches(uses, hash)
	if err != nil {
		return err
	}
	_, err = to.Write(patches)
	return err
}
