// Package cli contains the code that the commands of evergate and the kubectl plugin share.
//
//	cli.go      errors, exit codes, unknown commands and flags
//	flags.go    flags with several words, the flags of reports, completion of flags
//	policy.go   policies from files and standard input
//	version.go  the version of the binary
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/evergate/evergate/internal/text"
)

// The exit codes that all commands share. The help of each command describes its exit codes.
const (
	OK          = 0
	Found       = 1   // the command has found a problem
	Usage       = 2   // bad flags, bad arguments, a bad policy, bad input, or a cluster that does not answer
	Interrupted = 130 // by a signal, as in shells
)

// ExitError carries the exit code of the process. If Err is nil, nothing is printed, because the command has already
// reported the problem. An error of another type means Usage.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Exit returns an error with an exit code, or nil if the code is OK.
func Exit(code int) error {
	if code == OK {
		return nil
	}
	return &ExitError{Code: code}
}

// Problem returns an error about a problem that the command has found.
func Problem(err error) error { return &ExitError{Found, err} }

// Execute runs a command with its arguments and returns the exit code. If ctx ends, the exit code is Interrupted.
func Execute(
	ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer,
) int {
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(explainFlagError)
	completeFlags(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return OK
	}
	exit, ok := errors.AsType[*ExitError](err)
	if !ok {
		exit = &ExitError{Usage, err}
	}
	if exit.Err != nil {
		Say(stderr, err.Error())
	}
	if ctx.Err() != nil {
		Say(stderr, "interrupted")
		return Interrupted
	}
	return exit.Code
}

// Say writes each line of a message with a prefix, so every line can be found in a log. It escapes the text, because a
// message may contain text from a cluster, or the name of a file that the author of a pull request has chosen.
func Say(stderr io.Writer, messages ...string) {
	for _, message := range messages {
		for line := range strings.Lines(message) {
			fmt.Fprintf(stderr, "evergate: %s\n", text.Escape(strings.TrimSpace(line)))
		}
	}
}

// Conclude prints at most 100 errors and problems, because users do not read more. The result has the exit code Usage
// if there are errors, and Found if there are only problems.
func Conclude(stderr io.Writer, errs, problems []string) error {
	all := slices.Concat(errs, problems)
	shown := min(len(all), 100)
	Say(stderr, all[:shown]...)
	if shown < len(all) {
		Say(stderr, "and "+text.Thousands(len(all)-shown)+" more")
	}
	if len(errs) > 0 {
		return Exit(Usage)
	}
	return Exit(min(len(problems), Found))
}

// IsTerminal reports whether a reader or a writer is a terminal.
func IsTerminal(of any) bool {
	file, ok := of.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// explainFlagError adds a suggestion to an error about an unknown flag, and a reference to the help to other errors.
func explainFlagError(c *cobra.Command, err error) error {
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if near := text.Nearest(unknown.GetSpecifiedName(), known); near != "" {
			return fmt.Errorf("%w: did you mean --%s?", err, near)
		}
	}
	return fmt.Errorf("%w: see %s --help", err, c.CommandPath())
}

// NewGroup returns a command that only contains other commands. Without arguments it shows its help.
func NewGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
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

// Args returns a validator for the number of arguments. problem is the error about another number.
func Args(min, max int, problem string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < min || len(args) > max {
			return errors.New(problem)
		}
		return nil
	}
}

// NoArgs returns a validator that does not accept arguments. hint explains the probable intention.
func NoArgs(hint string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("%s does not accept the argument %q: %s", c.CommandPath(), args[0], hint)
	}
}
