package cmd

import (
	"io"
	"log/slog"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/lifecycle/settings"
)

// newVerbosity returns a verbosity with an initial log level.
func newVerbosity(level slog.Level) *verbosity {
	v := &verbosity{configured: level}
	v.level.Set(level)
	return v
}

func newLogger(w io.Writer, format settings.LogFormat, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "text" || format == "" && cli.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
