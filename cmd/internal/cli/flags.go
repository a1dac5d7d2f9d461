package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
)

// Choice is a flag whose value is one of several words. It implements pflag.Value.
type Choice[T ~string] struct {
	Word  T
	known []string
}

// NewChoice returns a flag that accepts the given words. Its default is the first word.
func NewChoice[T ~string](known ...T) Choice[T] {
	c := Choice[T]{Word: known[0]}
	for _, word := range known {
		c.known = append(c.known, string(word))
	}
	return c
}

// Set implements pflag.Value.
func (c *Choice[T]) Set(word string) error {
	if !slices.Contains(c.known, word) {
		return fmt.Errorf("%s is not known: write %s", text.Quote(word), c.words())
	}
	c.Word = T(word)
	return nil
}

func (c *Choice[T]) words() string {
	last := len(c.known) - 1
	return strings.Join(c.known[:last], ", ") + " or " + c.known[last]
}

// String implements pflag.Value.
func (c *Choice[T]) String() string { return string(c.Word) }

// Type returns the placeholder for a value in help texts.
func (c *Choice[T]) Type() string { return strings.Join(c.known, "|") }

// Warn is the word for --fail-on with which a command fails because of warnings too.
const Warn = "warn"

// The words for --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// Report contains the flags of a command that reports findings.
type Report struct {
	FailOn Choice[string]

	// Limit and AllRows are options for text.
	Limit   int
	AllRows bool

	format       Choice[output.Format]
	color        Choice[string]
	onlyFailures bool
	quiet        bool
	noColor      bool
}

// values returns the formats of a command that does not report cases.
func values() []output.Format { return []output.Format{output.Text, output.JSON, output.YAML} }

// NewReport returns the flags of a command with all formats. failOn contains the words for --fail-on, the default
// first.
func NewReport(env map[string]string, failOn ...string) *Report {
	return &Report{
		FailOn: NewChoice(failOn...), format: NewChoice(append(values(), output.JUnit, output.SARIF, output.GitHub)...),
		color: NewChoice(colorAuto, colorAlways, colorNever),
		// NO_COLOR disables colors for any value that is not empty: see https://no-color.org. A dumb terminal does not
		// support colors.
		noColor: env["NO_COLOR"] != "" || env["TERM"] == "dumb",
	}
}

// WithoutCases leaves out the formats for CI, because the command does not report cases.
func (f *Report) WithoutCases() *Report {
	f.format = NewChoice(values()...)
	return f
}

// Define defines the flags. what is the output of the command. failures describes the words for --fail-on. If it is
// empty, only warn is added to the default, and there is also a flag to list only failures.
func (f *Report) Define(flags *pflag.FlagSet, what, failures string) {
	defineFormat(flags, &f.format, what)
	flags.Var(&f.color, "color", "when to color the text: auto (on a terminal, unless NO_COLOR is set), always or never")
	if failures == "" {
		failures = "results that lead to an exit code other than 0; warn includes warnings"
		flags.BoolVar(&f.onlyFailures, "only-failures", false, "list only failures")
	}
	flags.Var(&f.FailOn, "fail-on", failures)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only errors; use the exit code for the result")
}

// DefineFormat defines the flag --output of a command with values and no cases. what is the output of the command.
func DefineFormat(flags *pflag.FlagSet, what string) *output.Format {
	f := NewChoice(values()...)
	defineFormat(flags, &f, what)
	return &f.Word
}

func defineFormat(flags *pflag.FlagSet, f *Choice[output.Format], what string) {
	flags.VarP(f, "output", "o", "how to write "+what+": "+f.words())
}

// Format returns the format of the report.
func (f *Report) Format() output.Format { return f.format.Word }

// FailOnWarnings reports whether the command fails because of warnings.
func (f *Report) FailOnWarnings() bool { return f.FailOn.Word == Warn }

// Options returns the options for a report of a command that is written to w, and the writer for it.
func (f *Report) Options(command string, w io.Writer) (output.Options, io.Writer) {
	o := output.Options{
		Command: command, FailOnWarnings: f.FailOnWarnings(), Version: Build().Version, OnlyFailures: f.onlyFailures,
		Limit: f.Limit, AllRows: f.AllRows,
		Colors: text.Colors(f.color.Word == colorAlways || f.color.Word == colorAuto && !f.noColor && IsTerminal(w)),
	}
	o.Dir, _ = os.Getwd() // if the directory is unknown, paths are written unchanged
	if f.quiet {
		w = io.Discard
	}
	return o, w
}

// Write writes the report of a command.
func (f *Report) Write(w io.Writer, command string, r output.Report) error {
	o, w := f.Options(command, w)
	return Write(w, f.Format(), r, o)
}

// Write writes a report. Its error contains the action.
func Write(w io.Writer, f output.Format, r output.Report, o output.Options) error {
	if err := output.Write(w, f, r, o); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

// completeFlags defines the shell completion of flag values: words, or files with manifests.
func completeFlags(root *cobra.Command) {
	for _, c := range root.Commands() {
		completeFlags(c)
	}
	root.Flags().VisitAll(func(f *pflag.Flag) {
		var values cobra.CompletionFunc
		if words := strings.Split(f.Value.Type(), "|"); len(words) > 1 {
			values = cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
		} else if slices.Contains([]string{"filename", "new", "old", "policy"}, f.Name) {
			values = cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt)
		}
		if values != nil {
			_ = root.RegisterFlagCompletionFunc(f.Name, values) // fails only if the flag already has a completion
		}
	})
}
