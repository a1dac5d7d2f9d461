package cmd

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// logFlags say how a serving process logs.
type logFlags struct {
	level  slog.Level
	format logFormat
}

// logFormat is json, text, or empty for what suits the place that logs go to.
type logFormat string

// String implements pflag.Value.
func (f *logFormat) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *logFormat) Set(s string) error {
	if s != "json" && s != "text" {
		return fmt.Errorf("%q is not a format: write json or text", s)
	}
	*f = logFormat(s)
	return nil
}

// Type implements pflag.Value.
func (f *logFormat) Type() string { return "format" }

func (f *logFlags) define(flags *pflag.FlagSet) {
	flags.TextVar(&f.level, "log-level", slog.LevelInfo,
		"lowest `level` that is logged: debug, info, warn or error; SIGUSR1 changes to debug and back")
	flags.Var(&f.format, "log-format", "json or text (default text on a terminal, json elsewhere)")
}

// verbosity returns what is logged at first.
func (f *logFlags) verbosity() *verbosity {
	v := &verbosity{configured: f.level}
	v.level.Set(f.level)
	return v
}

func (f *logFlags) logger(w io.Writer, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if f.format == "text" || f.format == "" && isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
