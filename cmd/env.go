package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/lifecycle/settings"
)

// warnIgnored returns a warning for each variable that does not set a flag of any command.
func warnIgnored(env settings.Environment, root *cobra.Command) []error {
	known := map[string]bool{}
	eachFlag(root, func(f *pflag.Flag) { known[settings.Variable(f.Name)] = true })
	var warnings []error
	for _, err := range env.Ignored(func(variable string) bool { return known[variable] }) {
		warnings = append(warnings, fmt.Errorf("warning: %w", err))
	}
	return warnings
}

// describeVariables adds to the help of each flag the variable that sets it.
func describeVariables(root *cobra.Command) {
	eachFlag(root, func(f *pflag.Flag) { f.Usage += " [" + settings.Variable(f.Name) + "]" })
}

// eachFlag calls visit for the flags of a command and of its subcommands.
func eachFlag(c *cobra.Command, visit func(*pflag.Flag)) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if settings.HasVariable(f) {
			visit(f)
		}
	})
	for _, sub := range c.Commands() {
		eachFlag(sub, visit)
	}
}
