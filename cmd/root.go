// Package cmd implements the command line: flags and wiring, but no logic.
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

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/settings"
)

// The exit codes that all commands share. The help of each command describes its exit codes.
const (
	exitOK    = 0
	exitUsage = 2 // bad flags, bad arguments, a bad policy, bad input
)

// exitError carries the exit code of the process. If err is nil, nothing is printed, because the command has already
// reported the problem. An error of another type means exitUsage.
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

// Run runs the command in args and returns the exit code. environ has the format of os.Environ.
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

// printError writes each line of an error with a prefix, so every line can be found in a log. It escapes the text,
// because an error may contain the name of a file that the author of a pull request has chosen.
func printError(stderr io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "evergate: %s\n", text.Escape(strings.TrimSpace(line)))
	}
}

func newRootCommand(env settings.Environment) *cobra.Command {
	root := newGroup("evergate",
		"A Kubernetes admission webhook that rewrites Pod images and validates objects against a policy",
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
	root.Long = `Evergate is a Kubernetes admission webhook. It rewrites the images of Pods to private mirrors, and
validates Pods, workloads, Ingresses, Services, Gateway API objects, OpenShift Routes, cert-manager Certificates and
external-dns DNSEndpoints against a policy.

Every flag can also be set with an environment variable, for example --tls-cert with EVERGATE_TLS_CERT. The command line
overrides the environment, and the environment overrides the default. An empty variable counts as not set. For a
repeatable flag, separate the values in the variable with commas, and put a value that contains a comma in double
quotes.`
	// cobra formats the version. A custom template would link text/template, whose use of reflection keeps every
	// exported method of every type in the binary (5 MiB).
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

// explainFlagError adds a suggestion to an error about an unknown flag, and a reference to the help to other errors.
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

// completeFlags defines the shell completion of flag values: words, or files with manifests.
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

// complete registers the completion of a flag. It fails only for a flag that already has one. Such a flag keeps its
// completion.
func complete(c *cobra.Command, f *pflag.Flag, values cobra.CompletionFunc) {
	_ = c.RegisterFlagCompletionFunc(f.Name, values)
}

// newGroup returns a command that only contains other commands. Without arguments it shows its help.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		DisableFlagsInUseLine:      true,
		SuggestionsMinimumDistance: 2, // suggestions for words that differ more would be guesses
	}
	c.AddCommand(commands...)
	return c
}

// knownCommand returns an error for the arguments of a group. If an argument were a command, cobra would have run it.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := c.CommandPath() + " --help lists the commands"
	near := c.SuggestionsFor(args[0])
	for _, group := range c.Commands() { // evergate check means evergate policy check
		for _, name := range group.SuggestionsFor(args[0]) {
			near = append(near, group.Name()+" "+name)
		}
	}
	if len(near) > 0 {
		hint = "did you mean " + c.CommandPath() + " " + near[0] + "?"
	}
	return fmt.Errorf("unknown command %q: %s", c.CommandPath()+" "+args[0], hint)
}

// filesOf returns a validator that adds arguments to the files of a flag.
func filesOf(flag string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		for _, arg := range args {
			f := c.Flags().Lookup(flag)
			if _, many := f.Value.(pflag.SliceValue); f.Changed && !many {
				return fmt.Errorf("%s reads only one file or directory: leave out %s", c.CommandPath(), text.Quote(arg))
			}
			if err := c.Flags().Set(flag, arg); err != nil {
				return err
			}
		}
		return nil
	}
}

// noArgs returns a validator that does not accept arguments. hint explains the probable intention.
func noArgs(hint string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("%s does not accept the argument %q: %s", c.CommandPath(), args[0], hint)
	}
}
