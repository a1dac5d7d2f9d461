package cmd

import (
	"context"
	"log/slog"
	"os"
)

// verbosity is the log level of a process. It can change while the process runs.
type verbosity struct {
	level      slog.LevelVar
	configured slog.Level // by --log-level
}

// Level implements slog.Leveler.
func (v *verbosity) Level() slog.Level { return v.level.Level() }

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
	v.level.Set(other)
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
