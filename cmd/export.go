package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/offline/mirrors"
	"github.com/evergate/evergate/policy"
)

// exportFlags are the flags of evergate export.
type exportFlags struct {
	export.Options
	policies   []string
	targets    []string
	bestEffort bool
	coverage   bool
	conditions bool
	noFallback bool
}

func newExportCommand() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export --target TARGET POLICY...",
		Short: "Convert a policy to native policies of the API server or to a node configuration",
		Long: `Export converts a policy to formats that work even if no replica of Evergate is running: native admission
policies, which the API server evaluates itself, or the mirrors of a container runtime. If a part of the policy cannot
be converted exactly, export does not write anything, and reports the file, the line, the reason and a solution. With
--best-effort it writes the other parts, with a comment for each part that it leaves out.

--coverage prints a line for each entry, with the protection that is lost without the webhooks. --webhook-conditions
prints patches for the base manifests. The patches disable the webhooks that the exported policies replace.
docs/native.md describes the targets and their limits.

CEL, the API server's language, has no clock, so export leaves out parts of the policy that end on a date. Export
again after that date. Parts that have ended do not prevent the export.

Targets, separated by commas, or one target for container runtimes:
` + targetList() + `
Several values are parts of one policy: files, directories, the manifest of its ConfigMap, or - for
standard input.

Exit codes: 0 everything was written, 1 something was left out (only with --best-effort), 2 something cannot be
exported, or the policy is not valid or cannot be read.`,
		Example: "  evergate export --target vap,map policy.yaml >backstop.yaml\n" +
			"  evergate export --target vap,map --webhook-conditions policy.yaml >conditions.yaml\n" +
			"  evergate export --target vap --coverage policy.yaml",
		Args: cli.FilesOf("policy"),
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
	for _, t := range slices.Concat(export.Targets(), mirrors.Targets()) {
		fmt.Fprintf(&b, "  %-16s%s\n", t.Name, t.Does)
	}
	return b.String()
}

func (f *exportFlags) define(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.policies, "policy", "p", nil,
		"`file` or directory of the policy, the manifest of its ConfigMap, or - (stdin); repeatable")
	flags.StringArrayVar(&f.targets, "target", nil, "the output formats, separated by commas or repeated")
	flags.StringArrayVar(&f.Exempt, "exempt-namespace", export.ExemptNamespaces(),
		"namespaces that are never matched; the first must be Evergate's namespace; repeatable; replaces the default "+
			"list")
	flags.StringVar(&f.BreakGlass, "break-glass-group", "evergate:break-glass",
		"the group that may delete and change the objects that the target static protects")
	flags.BoolVar(&f.bestEffort, "best-effort", false,
		"write everything that can be exported, with a comment for each part that cannot")
	flags.BoolVar(&f.coverage, "coverage", false,
		"print the protection that is lost without the webhooks, and do not write policies")
	flags.BoolVar(&f.conditions, "webhook-conditions", false,
		"print patches that disable the webhooks that the exported policies replace, and do not write policies")
	flags.BoolVar(&f.DenyUnrewritten, "deny-unrewritten", false,
		"export from: mirrors even without the target map. Pods that no webhook has rewritten are then denied")
	flags.BoolVar(&f.noFallback, "no-fallback", false,
		"container runtimes never pull from the original registry, even if the mirror fails, as with the webhook")
	defineAt(flags, &f.Now)
}

func (f *exportFlags) run(stdin io.Reader, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	var files []policy.File
	for _, path := range f.policies {
		more, err := readPolicy(path, stdin)
		if err != nil {
			return err
		}
		files = append(files, more...)
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
	f.Hash = p.Hash()
	out, omissions, err := f.export(doc)
	if err == nil && len(omissions) > 0 && !f.bestEffort {
		err = errors.New(strings.Join(omissions, "\n"))
	}
	if err == nil {
		_, err = stdout.Write(out)
	}
	if err != nil || len(omissions) == 0 {
		return err
	}
	cli.Say(stderr, omissions...)
	return cli.Exit(cli.Found)
}

// export returns the output, and a line for each part of the policy that is left out.
func (f *exportFlags) export(doc policy.Document) (out []byte, left []string, err error) {
	if f.forNodes() {
		out, omissions := mirrors.Export(doc, mirrors.Options{Target: f.Targets[0], NoFallback: f.noFallback, Now: f.Now})
		return out, text.Strings(omissions), nil
	}
	if f.conditions {
		out, err = export.ConditionPatches(export.WebhookUses(doc, f.Options), f.Hash)
		return out, nil, err
	}
	result := export.Export(doc, f.Options)
	if f.coverage {
		return []byte(strings.Join(append(result.Report(), ""), "\n")), nil, nil
	}
	out, err = result.Text()
	return out, text.Strings(result.Omissions), err
}

// forNodes reports whether the output is for a container runtime.
func (f *exportFlags) forNodes() bool {
	return slices.ContainsFunc(mirrors.Targets(), func(t export.TargetInfo) bool {
		return slices.Contains(f.Targets, t.Name)
	})
}

// check sets the targets, and returns an error for missing, unknown or contradictory flags.
func (f *exportFlags) check() error {
	if len(f.targets) == 0 {
		return errors.New("no target: add a target, for example --target vap,map")
	}
	var known []export.Target
	for _, t := range slices.Concat(export.Targets(), mirrors.Targets()) {
		known = append(known, t.Name)
	}
	for name := range strings.SplitSeq(strings.Join(f.targets, ","), ",") {
		if !slices.Contains(known, export.Target(name)) {
			return fmt.Errorf("unknown --target %s: use %s", text.Quote(name), text.ListUpTo(len(known), known))
		}
		f.Targets = append(f.Targets, export.Target(name))
	}
	return firstOf(
		mistake{len(f.policies) == 0, cli.ErrNoPolicy.Error()},
		mistake{
			f.forNodes() && (len(f.Targets) > 1 || f.conditions || f.coverage),
			"a target for container runtimes is exported separately: leave out other targets, --coverage and " +
				"--webhook-conditions",
		},
		mistake{f.noFallback && !f.forNodes(), "--no-fallback is for container runtimes: add --target hosts-toml, " +
			"registries-conf or idms"},
		mistake{f.conditions && f.coverage, "--coverage and --webhook-conditions exclude each other: leave one out"},
		mistake{
			f.BreakGlass == "",
			"--break-glass-group is empty: set the group that may change the enforcement of the policy",
		},
		mistake{
			len(f.Exempt) == 0 || f.Exempt[0] == "", "--exempt-namespace is empty: add at least Evergate's namespace",
		},
	)
}
