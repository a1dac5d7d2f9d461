package cmd

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/docs"
	"github.com/evergate/evergate/internal/schema"
)

func newPolicySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of policy files, for editors",
		Long: `Schema prints the JSON Schema (draft 7) of policy files: fields, words and patterns, with descriptions and
examples. Editors with yaml-language-server use it to complete and check a policy if its first line refers to it:

  # yaml-language-server: $schema=policy.schema.json

The schema does not cover rules that involve several fields, or the syntax of patterns. Use policy check for these.`,
		Example: "  evergate policy schema > policy.schema.json",
		Args:    cli.NoArgs("it always prints the whole schema"),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(docs.PolicySchema)
			return err
		},
	}
}

func newPolicyExplainCommand() *cobra.Command {
	recursive := false
	explain := &cobra.Command{
		Use:   "explain [FIELD]",
		Short: "Describe a field of policy files, like kubectl explain",
		Long: `Explain describes a field (the meaning, the allowed words, the default and an example) and lists its nested
fields. Write the field as in the errors of policy check: ingresses.hosts, or ingresses[0].hosts.allowed. Without a
field, explain lists the top-level fields of a policy.

Exit codes: 0 described, 2 there is no such field.`,
		Example: "  evergate policy explain ingresses.hosts\n  evergate policy explain --recursive",
		Args:    cli.Args(0, 1, "explain one field at a time, such as ingresses.hosts.allowed"),
		RunE: func(c *cobra.Command, args []string) error {
			document, err := schema.Parse(docs.PolicySchema)
			if err != nil {
				return err
			}
			text, err := document.Explain(strings.Join(args, ""), recursive)
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write([]byte(text))
			return err
		},
		ValidArgsFunction: completeField,
	}
	explain.Flags().BoolVar(&recursive, "recursive", false, "list all nested fields, without descriptions")
	return explain
}

// completeField completes the path of a field.
func completeField(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	document, err := schema.Parse(docs.PolicySchema)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	above := begun[:strings.LastIndexByte(begun, '.')+1]
	field, err := document.Find(strings.TrimSuffix(above, "."))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var fields []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(field.Inner().Fields)) {
		fields = append(fields, above+name)
	}
	return fields, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
