package cmd

import (
	"context"
	"log/slog"
	"os"
)

// verbosity is how much a process logs, and changes while it runs.
type verbosity struct {
	level      slog.LevelVar
	configured slog.Level // by --log-level
}

// Level implements slog.Leveler.
func (v *verbosity) Level() slog.Level { return v.level.Level() }

// toggle changes between the configured level and debug. Where debug is configured, it changes to info: a change then
// is for less.
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

// follow toggles on every signal until ctx is done, and logs each change whatever the level.
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
