package cmd

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/internal/output"
	"github.com/evergate/evergate/internal/settings"
	"github.com/evergate/evergate/policy"
)

func newPolicyCommand(env settings.Environment) *cobra.Command {
	return newGroup("policy", "Work on policy files",
		newPolicyCheckCommand(env), newPolicyExplainCommand(), newPolicyPrefixesCommand(),
		newPolicySchemaCommand(), newPolicyWebhooksCommand())
}

func newPolicyCheckCommand(env settings.Environment) *cobra.Command {
	strict, format, at := false, output.NewFlag(output.All()...), atFlag{}
	text := newTextFlags(env, failOnError)
	check := &cobra.Command{
		Use:   "check POLICY...",
		Short: "Say whether policies are valid, and everything that is wrong with them",
		Long: `Check loads each policy, which is a file, a directory of *.yaml and *.yml files that are merged as those of a
ConfigMap are, the manifest of such a ConfigMap, or - for standard input. Of a valid one it prints how many entries
are in force and the hash by which it is called in warnings, logs and metrics, and warns of what in it does less than
it looks like; of any other it prints everything that is wrong, a line each, with file, line, column and field.

It warns 14 days before an exception ends, and names those that have ended. The date makes no policy invalid, also not
with --strict: a pipeline must not fail because a day has passed.

With -o json or yaml it prints one document about all policies (docs/policy/commands.md). -o junit, sarif and github are
for pipelines (docs/testing-policies.md).

Exit codes: 0 all are valid, 2 one is not, or cannot be read; with --strict, or --fail-on warn, also where there is a
warning.`,
		Example: "  evergate policy check policy.yaml\n  evergate policy check -o json policy/",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("check which policy? name its file or directory")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			report := checkPolicies(args, strict || text.failOnWarnings(), at.time(), c.InOrStdin())
			stdout := text.writer(c.OutOrStdout())
			if format.Format() != output.Text {
				return report.encode(stdout, format.Format(), strict || text.failOnWarnings())
			}
			return report.write(stdout, text.colors(c.OutOrStdout()), text.onlyFailures)
		},
		ValidArgsFunction: completePolicies,
	}
	check.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors: the same as --fail-on warn")
	at.define(check.Flags())
	check.Flags().VarP(&format, "output", "o", format.Usage("the result"))
	text.define(check.Flags())
	return check
}

func newPolicyPrefixesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prefixes POLICY",
		Short: "Print the prefixes of the mirrors, as the kit's settings have them",
		Long: `Prefixes prints what the images of a policy's mirrors begin with, as the line that belongs into the data of the
ConfigMap evergate-settings (kustomize/base/settings.yaml): a Pod in which some image begins with none of them is
offered for rewriting a second time. The policy is what policy check takes: a file, a directory, the manifest of its
ConfigMap, or - for standard input.

Exit codes: 0 printed, 2 the policy is not valid, cannot be read, or has no mirror in force.`,
		Example: "  evergate policy prefixes policy.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("print the prefixes of which policy? name its file or directory")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return printPrefixes(args[0], c.InOrStdin(), c.OutOrStdout())
		},
		ValidArgsFunction: completePolicies,
	}
}

// printPrefixes prints the setting mirrors of the kit: a list as CEL has it, in one line, in quotes as YAML has them.
// No prefix holds a quote, since no name of an image does.
func printPrefixes(path string, stdin io.Reader, stdout io.Writer) error {
	p, err := loadPolicy(path, stdin)
	if err != nil {
		return err
	}
	prefixes := p.MirrorPrefixes()
	if len(prefixes) == 0 {
		return fmt.Errorf("%s: no mirrors entry is in force, so that there is no prefix", path)
	}
	_, err = fmt.Fprintf(stdout, "mirrors: '[\"%s\"]'\n", strings.Join(prefixes, `", "`))
	return err
}

func newPolicyWebhooksCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "webhooks POLICY",
		Short: "Print the webhook entry for the custom resources of templates",
		Long: `Webhooks prints a patch of the kit that adds a webhook entry for the custom resources in a policy's templates,
so that their templates are judged: their resources, and a condition under which only what changes a template is
sent. Put it beside the kustomization.yaml of an overlay, list it there under patches, and print it again when
templates changes; preflight says when it was not. The policy is what policy check takes: a file, a directory, the
manifest of its ConfigMap, or - for standard input.

Exit codes: 0 printed, 2 the policy is not valid, cannot be read, or has no templates.`,
		Example: "  evergate policy webhooks policy.yaml >templates-webhook.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("print the webhooks of which policy? name its file or directory")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return printWebhooks(args[0], c.InOrStdin(), c.OutOrStdout())
		},
		ValidArgsFunction: completePolicies,
	}
}

// printWebhooks prints the patch with the webhook entry for the templates of a policy.
func printWebhooks(path string, stdin io.Reader, stdout io.Writer) error {
	p, err := loadPolicy(path, stdin)
	if err != nil {
		return err
	}
	if len(p.Templates()) == 0 {
		return fmt.Errorf("%s: it has no templates, so that there is no entry: the kit has those of all other kinds", path)
	}
	_, err = stdout.Write(deploy.TemplatesPatch(p.Templates()))
	return err
}

// counted describes what is in force: "3 mirrors, 1 pods rule".
func counted(c policy.Counts) string {
	var parts []string
	for kind, n := range c.All() {
		rules := kind + " rules"
		if kind == "mirrors" {
			rules = kind
		}
		switch n {
		case 0:
		case 1:
			parts = append(parts, "1 "+strings.TrimSuffix(rules, "s"))
		default:
			parts = append(parts, strconv.Itoa(n)+" "+rules)
		}
	}
	if len(parts) == 0 {
		return "no entry is in force, so every object is allowed and no image is rewritten"
	}
	return strings.Join(parts, ", ")
}
