package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/internal/settings"
	"github.com/evergate/evergate/internal/text"
)

// textFlags say what of a report is written for users, and what counts as a failure.
type textFlags struct {
	color        colorMode
	failOn       failure
	onlyFailures bool
	quiet        bool

	noColor bool // the environment says so
}

// newTextFlags returns the flags of a command for which failOn is what fails by default.
func newTextFlags(env settings.Environment, failOn string) *textFlags {
	// https://no-color.org: whatever its value. A terminal that is dumb knows no colors.
	noColor := env["NO_COLOR"] != "" || env["TERM"] == "dumb"
	return &textFlags{color: colorAuto, failOn: failure{usual: failOn}, noColor: noColor}
}

func (f *textFlags) define(flags *pflag.FlagSet) {
	f.defineColor(flags)
	flags.Var(&f.failOn, "fail-on", "what ends with an exit code other than 0; warn: also what is warned of")
	flags.BoolVar(&f.onlyFailures, "only-failures", false, "list only what fails")
	f.defineQuiet(flags)
}

func (f *textFlags) defineColor(flags *pflag.FlagSet) {
	flags.Var(&f.color, "color", "when to color the text: auto (on a terminal, unless NO_COLOR is set), always or never")
}

func (f *textFlags) defineQuiet(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "write nothing but errors: the exit code says the rest")
}

// failOnWarnings reports whether warnings fail.
func (f *textFlags) failOnWarnings() bool { return f.failOn.warn }

// writer returns where the report is written.
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

// colorMode says when text is colored.
type colorMode string

// The modes.
const (
	colorAuto   colorMode = "auto"
	colorAlways colorMode = "always"
	colorNever  colorMode = "never"
)

// Set accepts the names of the modes.
func (m *colorMode) Set(name string) error {
	switch mode := colorMode(name); mode {
	case colorAuto, colorAlways, colorNever:
		*m = mode
		return nil
	}
	return fmt.Errorf("%s is not known: write auto, always or never", text.Quote(name))
}

// String returns the name.
func (m *colorMode) String() string { return string(*m) }

// Type is what stands for a value in the help.
func (m *colorMode) Type() string { return "auto|always|never" }

// failure is the least that a command fails for: what it fails for without a flag, or a warning.
type failure struct {
	usual string
	warn  bool
}

// Words for what commands fail for without a flag.
const (
	failOnDenied = "denied"
	failOnError  = "error"
)

// failOnWarn is the other value of the flag.
const failOnWarn = "warn"

// Set accepts the usual word, and warn.
func (f *failure) Set(name string) error {
	if name != f.usual && name != failOnWarn {
		return fmt.Errorf("%s is not known: write %s or %s", text.Quote(name), f.usual, failOnWarn)
	}
	f.warn = name == failOnWarn
	return nil
}

// String returns the word.
func (f *failure) String() string {
	if f.warn {
		return failOnWarn
	}
	return f.usual
}

// Type is what stands for a value in the help.
func (f *failure) Type() string { return f.usual + "|" + failOnWarn }
