package cmd

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/lifecycle/settings"
)

func newLogger(w io.Writer, format settings.LogFormat, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "text" || format == "" && cli.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// verbosity is the log level of a process. It can change while the process runs.
type verbosity struct {
	slog.LevelVar
	configured slog.Level // by --log-level
}

// toggle switches between the configured level and debug. If debug is configured, it switches to info, because the
// user then wants to log less.
func (v *verbosity) toggle() {
	other := slog.LevelDebug
	if v.configured <= slog.LevelDebug {
		other = slog.LevelInfo
	}
	if v.Level() == other {
		other = v.configured
	}
	v.Set(other)
}

// follow calls toggle on every signal until ctx is done. It logs each change at any level.
func (v *verbosity) follow(ctx context.Context, signals <-chan os.Signal, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			from := v.Level()
			v.toggle()
			log.Log(ctx, max(slog.LevelInfo, v.Level()), "log level changed", "from", from, "to", v.Level())
		}
	}
}
