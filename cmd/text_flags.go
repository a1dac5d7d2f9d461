package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/settings"
)

// textFlags say what of a report is written for users, and what counts as a failure.
type textFlags struct {
	color        colorMode
	failOn       failure
	onlyFailures bool
	quiet        bool

	noColor bool // from the environment
}

// newTextFlags returns the flags of a command. failOn is the word for the default of --fail-on.
func newTextFlags(env settings.Environment, failOn string) *textFlags {
	// NO_COLOR disables colors for any value that is not empty: see https://no-color.org. A dumb terminal does not
	// support colors.
	noColor := env["NO_COLOR"] != "" || env["TERM"] == "dumb"
	return &textFlags{color: colorAuto, failOn: failure{usual: failOn}, noColor: noColor}
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
func (f *textFlags) failOnWarnings() bool { return f.failOn.warn }

// writer returns the writer for the report.
func (f *textFlags) writer(w io.Writer) io.Writer {
	if f.quiet {
		return io.Discard
	}
	return w
}

// colors returns the colors of text that is written to w.
func (f *textFlags) colors(w io.Writer) text.Colors {
	switch f.color {
	case colorAlways:
		return true
	case colorNever:
		return false
	default:
		return text.Colors(!f.noColor && isTerminal(w))
	}
}

// colorMode controls when text is colored.
type colorMode string

// The modes.
const (
	colorAuto   colorMode = "auto"
	colorAlways colorMode = "always"
	colorNever  colorMode = "never"
)

// Set implements pflag.Value.
func (m *colorMode) Set(name string) error {
	switch mode := colorMode(name); mode {
	case colorAuto, colorAlways, colorNever:
		*m = mode
		return nil
	}
	return fmt.Errorf("%s is not known: write auto, always or never", text.Quote(name))
}

// String implements pflag.Value.
func (m *colorMode) String() string { return string(*m) }

// Type returns the placeholder for a value in help texts.
func (m *colorMode) Type() string { return "auto|always|never" }

// failure is the value of --fail-on: the default of the command, or warn to fail because of warnings too.
type failure struct {
	usual string
	warn  bool
}

// The words for the defaults of --fail-on.
const (
	failOnDenied = "denied"
	failOnError  = "error"
)

// failOnWarn is the other value of --fail-on.
const failOnWarn = "warn"

// Set implements pflag.Value. It accepts the default of the command, and warn.
func (f *failure) Set(name string) error {
	if name != f.usual && name != failOnWarn {
		return fmt.Errorf("%s is not known: write %s or %s", text.Quote(name), f.usual, failOnWarn)
	}
	f.warn = name == failOnWarn
	return nil
}

// String implements pflag.Value.
func (f *failure) String() string {
	if f.warn {
		return failOnWarn
	}
	return f.usual
}

// Type returns the placeholder for a value in help texts.
func (f *failure) Type() string { return f.usual + "|" + failOnWarn }
