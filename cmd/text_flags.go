package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/settings"
)

// textFlags say what of a report is written for users, and what counts as a failure.
type textFlags struct {
	color        choice
	failOn       choice
	onlyFailures bool
	quiet        bool

	noColor bool // from the environment
}

// newTextFlags returns the flags of a command. failOn is the word for the default of --fail-on.
func newTextFlags(env settings.Environment, failOn string) *textFlags {
	// NO_COLOR disables colors for any value that is not empty: see https://no-color.org. A dumb terminal does not
	// support colors.
	noColor := env["NO_COLOR"] != "" || env["TERM"] == "dumb"
	return &textFlags{
		color: newChoice(colorAuto, colorAlways, colorNever), failOn: newChoice(failOn, failOnWarn), noColor: noColor,
	}
}

func (f *textFlags) define(flags *pflag.FlagSet) {
	f.defineColor(flags)
	flags.Var(&f.failOn, "fail-on", "results that lead to an exit code other than 0; warn includes warnings")
	flags.BoolVar(&f.onlyFailures, "only-failures", false, "list only failures")
	f.defineQuiet(flags)
}

func (f *textFlags) defineColor(flags *pflag.FlagSet) {
	flags.Var(&f.color, "color", "when to color the text: auto (on a terminal, unless NO_COLOR is set), always or never")
}

func (f *textFlags) defineQuiet(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only errors; use the exit code for the result")
}

// failOnWarnings reports whether the command fails because of warnings.
func (f *textFlags) failOnWarnings() bool { return f.failOn.word == failOnWarn }

// writer returns the writer for the report.
func (f *textFlags) writer(w io.Writer) io.Writer {
	if f.quiet {
		return io.Discard
	}
	return w
}

// colors returns the colors of text that is written to w.
func (f *textFlags) colors(w io.Writer) text.Colors {
	switch f.color.word {
	case colorAlways:
		return true
	case colorNever:
		return false
	default:
		return text.Colors(!f.noColor && isTerminal(w))
	}
}

// The words for --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// The words for --fail-on: one of the defaults, or warn to fail because of warnings too.
const (
	failOnDenied = "denied"
	failOnError  = "error"
	failOnWarn   = "warn"

	failOnNoNamespace = "no-namespace" // only of review
)

// choice is a flag whose value is one of several words. It implements pflag.Value.
type choice struct {
	word  string
	known []string
}

// newChoice returns a flag that accepts the given words. Its default is the first word.
func newChoice(known ...string) choice { return choice{known[0], known} }

// Set implements pflag.Value.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.known, word) {
		last := len(c.known) - 1
		return fmt.Errorf("%s is not known: write %s or %s", text.Quote(word), strings.Join(c.known[:last], ", "),
			c.known[last])
	}
	c.word = word
	return nil
}

// String implements pflag.Value.
func (c *choice) String() string { return c.word }

// Type returns the placeholder for a value in help texts.
func (c *choice) Type() string { return strings.Join(c.known, "|") }
