// Package cmd is the command line: flags and wiring, no logic.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/internal/settings"
	"github.com/evergate/evergate/internal/text"
)

// The exit codes that all commands share; each documents its own.
const (
	exitOK    = 0
	exitUsage = 2 // bad flags, bad arguments, a bad policy, bad input
)

// exitError carries the code that the process ends with. Without an err nothing is printed: the command has said what
// there is to say. An error of another type means exitUsage.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Run runs the command that args name and returns the exit code. environ is as os.Environ has it.
func Run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand(settings.NewEnvironment(environ))
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		exit = &exitError{exitUsage, err}
	}
	if exit.err != nil {
		printError(stderr, exit.err)
	}
	return exit.code
}

// printError writes each line of an error, so that each can be found and understood alone. An error may contain the
// name of a file that a pull request has chosen.
func printError(stderr io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "evergate: %s\n", text.Escape(strings.TrimSpace(line)))
	}
}

func newRootCommand(env settings.Environment) *cobra.Command {
	root := newGroup("evergate",
		"A Kubernetes admission webhook that rewrites images and validates Ingresses and Services",
		newServeCommand(),
		newReviewCommand(env),
		newTestCommand(env),
		newPlanCommand(env),
		newPolicyCommand(env),
		newPreflightCommand(env),
		newExportCommand(),
		newVersionCommand(),
		newDocsCommand(),
	)
	root.Long = `Evergate is a Kubernetes admission webhook: it rewrites the images of Pods to private mirrors, and
validates Ingresses, Services and images by a policy.

Every flag can also be set by an environment variable: --tls-cert by EVERGATE_TLS_CERT. The command line wins over the
environment, and the environment over the default. A variable that is empty counts as not set. A flag that can be
repeated takes its values from one variable, separated by commas; a value with a comma stands in double quotes.`
	// As cobra writes it: a template of our own would link text/template, whose reflection keeps every exported method of
	// every type in the binary (5 MiB).
	root.Version = strings.TrimPrefix(thisBuild().String(), "evergate ")
	root.SilenceErrors = true // Run prints them
	root.SilenceUsage = true
	root.SetFlagErrorFunc(explainFlagError)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		for _, warning := range warnIgnored(env, c.Root()) {
			printError(c.ErrOrStderr(), warning)
		}
		return env.Apply(c.Flags())
	}
	root.InitDefaultCompletionCmd()
	describeVariables(root)
	completeFlags(root)
	return root
}

// explainFlagError says of an unknown flag which one was meant, and of other mistakes where the help is.
func explainFlagError(c *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := text.Nearest(unknown.GetSpecifiedName(), known); near != "" {
		return fmt.Errorf("%w: did you mean --%s?", err, near)
	}
	return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
}

// completeFlags says to shells which values flags take: words, or files with manifests.
func completeFlags(root *cobra.Command) {
	for _, c := range root.Commands() {
		completeFlags(c)
	}
	root.Flags().VisitAll(func(f *pflag.Flag) {
		if words := strings.Split(f.Value.Type(), "|"); len(words) > 1 {
			complete(root, f, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
			return
		}
		if slices.Contains([]string{"filename", "new", "old", "policy"}, f.Name) {
			complete(root, f, cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt))
		}
	})
}

// complete registers the completion of a flag. It fails only for a flag that has one already, which then stays.
func complete(c *cobra.Command, f *pflag.Flag, values cobra.CompletionFunc) {
	_ = c.RegisterFlagCompletionFunc(f.Name, values)
}

// newGroup makes a command that only holds others: alone it shows its help.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		DisableFlagsInUseLine:      true,
		SuggestionsMinimumDistance: 2, // typing errors further apart are guesses
	}
	c.AddCommand(commands...)
	return c
}

// knownCommand refuses the arguments of a group: had they named a command, that would have run.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := c.CommandPath() + " --help lists the commands"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + c.CommandPath() + " " + near[0] + "?"
	}
	return fmt.Errorf("there is no command %q: %s", c.CommandPath()+" "+args[0], hint)
}

// noArgs refuses arguments; hint says what was probably meant.
func noArgs(hint string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("%s takes no argument like %q: %s", c.CommandPath(), args[0], hint)
	}
}
