package cmd

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

func newPolicyCommand(env settings.Environment) *cobra.Command {
	return cli.NewGroup("policy", "Work on policy files",
		newPolicyCheckCommand(env), newPolicyExplainCommand(), newPolicyPrefixesCommand(),
		newPolicySchemaCommand(), newPolicyWebhooksCommand())
}

func newPolicyCheckCommand(env settings.Environment) *cobra.Command {
	var strict bool
	var at time.Time
	var policies []string
	flags := cli.NewReport(env, "error", cli.Warn)
	check := &cobra.Command{
		Use:   "check POLICY...",
		Short: "Check policies and report all problems",
		Long: `Check loads each policy. A policy is a file, a directory of *.yaml and *.yml files (merged like the files in
a ConfigMap), the manifest of such a ConfigMap, or - for standard input. Check loads several policies separately. For a
valid policy, check prints the number of active entries and the hash that identifies the policy in warnings, logs and
metrics. It warns about entries that do less than they seem to do, and about a policy that kubectl apply cannot store.
For an invalid policy, check prints all problems, one per line, with file, line, column and field.

Check warns 14 days before an exception ends, and lists exceptions that have ended. An expired exception does not make a
policy invalid, even with --strict, so a pipeline does not fail only because of the date.

With -o json or yaml, check prints one document about all policies (docs/policy/commands.md). The formats junit, sarif
and github are for CI (docs/testing-policies.md).

Exit codes: 0 all policies are valid, 2 a policy is not valid or cannot be read, or with --strict or --fail-on warn
there is a warning.`,
		Example: "  evergate policy check policy.yaml\n  evergate policy check policy/ -o json",
		Args:    cli.FilesOf("policy"),
		RunE: func(c *cobra.Command, _ []string) error {
			if len(policies) == 0 {
				return cli.ErrNoPolicy
			}
			report := checkPolicies(policies, strict || flags.FailOnWarnings(), at, c.InOrStdin())
			o, to := flags.Options("policy check", c.OutOrStdout())
			o.FailOnWarnings = strict || o.FailOnWarnings
			if err := cli.Write(to, flags.Format(), report, o); err != nil || report.Valid {
				return err
			}
			if flags.Format() == output.Text {
				return report.err()
			}
			return cli.Exit(cli.Usage) // the report contains the errors
		},
	}
	check.Flags().StringArrayVarP(&policies, "policy", "p", nil,
		"`file` or directory of a policy, the manifest of its ConfigMap, or - (stdin); repeatable")
	check.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors, like --fail-on warn")
	defineAt(check.Flags(), &at)
	flags.Define(check.Flags(), "the result", "")
	return check
}

func newPolicyPrefixesCommand() *cobra.Command {
	return withPolicy(printPrefixes, &cobra.Command{
		Use:   "prefixes POLICY",
		Short: "Print the prefixes of the mirrors for the settings of your overlay",
		Long: `Prefixes prints the prefixes of all mirrors in a policy, in the form of the setting mirrors in the ConfigMap
evergate-settings (kustomize/base/settings.yaml). The API server calls the retry webhook for Pods with an image that
does not begin with one of these prefixes.

Exit codes: 0 printed, 2 the policy is not valid, cannot be read, or has no active mirrors entry.`,
		Example: "  evergate policy prefixes policy.yaml",
	})
}

// withPolicy returns the command c, which reads one policy and prints something about it.
func withPolicy(show func(w io.Writer, p *policy.Policy, path string) error, c *cobra.Command) *cobra.Command {
	var path string
	definePolicy(c.Flags(), &path)
	c.Args = cli.FilesOf("policy")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if path == "" {
			return cli.ErrNoPolicy
		}
		p, err := loadPolicy(path, c.InOrStdin())
		if err != nil {
			return err
		}
		return show(c.OutOrStdout(), p, path)
	}
	return c
}

// printPrefixes prints the mirrors setting for an overlay: a CEL list on one line, in YAML quotes. A prefix never
// contains a quote, because image names do not.
func printPrefixes(stdout io.Writer, p *policy.Policy, path string) error {
	prefixes := p.MirrorPrefixes()
	if len(prefixes) == 0 {
		return fmt.Errorf("%s: no mirrors entry is active, so there are no prefixes", path)
	}
	_, err := fmt.Fprintf(stdout, "mirrors: '[\"%s\"]'\n", strings.Join(prefixes, `", "`))
	return err
}

func newPolicyWebhooksCommand() *cobra.Command {
	return withPolicy(printWebhooks, &cobra.Command{
		Use:   "webhooks POLICY",
		Short: "Print the webhook entry for the custom resources in the templates block",
		Long: `Webhooks prints a patch for your overlay that adds a webhook entry for the custom resources in the templates
block of a policy. With this entry, Evergate validates the Pod templates in these resources. The API server sends only
requests that change a template. Put the patch next to the kustomization.yaml of your overlay, and list it under
patches. Print the patch again if the templates block changes. Preflight reports an outdated patch.

Exit codes: 0 printed, 2 the policy is not valid, cannot be read, or has no templates block.`,
		Example: "  evergate policy webhooks policy.yaml >templates-webhook.yaml",
	})
}

// printWebhooks prints the patch with the webhook entry for the templates block of a policy.
func printWebhooks(stdout io.Writer, p *policy.Policy, path string) error {
	if len(p.Templates()) == 0 {
		return fmt.Errorf(
			"%s: no templates block, so no entry is needed: the base manifests have entries for all other kinds", path)
	}
	_, err := stdout.Write(deploy.TemplatesPatch(p.Templates()))
	return err
}

// counted describes the active entries, and what else the policy has: "3 mirrors, 1 pods rule, 2 exceptions".
func counted(c policy.Counts, more policy.Additions) string {
	things := func(n int, what string) string { return output.Some(n, text.Plural(n, what)) }
	var parts []string
	for kind, n := range c.All() {
		rule := kind + " rule"
		if kind == "mirrors" {
			rule = "mirror"
		}
		parts = append(parts, things(n, rule))
	}
	return output.List(
		cmp.Or(output.List(parts...), "no entry is active, so every object is allowed and no image is rewritten"),
		things(more.Exceptions, "exception"), things(more.SharedNamespaces, "shared gateway namespace"),
		things(more.Templates, "template"),
	)
}
