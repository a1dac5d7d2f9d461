// Package logtest records log lines in the format that users read. It is for tests.
package logtest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Recorder contains log lines without their time. It is safe for concurrent use.
type Recorder struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// New returns a logger for level Info and above, and the Recorder of its lines.
func New() (*slog.Logger, *Recorder) {
	r := &Recorder{}
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{ReplaceAttr: dropTime})), r
}

func dropTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.Attr{}
	}
	return a
}

// Write implements io.Writer for the logger.
func (r *Recorder) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(line)
}

// Take returns the lines since the last call.
func (r *Recorder) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.buf.String()
	r.buf.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Lines is a slog.Handler that keeps each record as a string of one line.
type Lines struct {
	mu   sync.Mutex
	kept []string
}

// Enabled implements slog.Handler.
func (l *Lines) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler. It ignores the attributes.
func (l *Lines) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler. It ignores the group.
func (l *Lines) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler.
func (l *Lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	l.kept = append(l.kept, text)
	return nil
}

// Take returns the lines since the last call. It combines equal neighbors into one line with their number.
func (l *Lines) Take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var got []string
	for len(l.kept) > 0 {
		n := slices.IndexFunc(l.kept, func(s string) bool { return s != l.kept[0] })
		if n < 0 {
			n = len(l.kept)
		}
		got = append(got, fmt.Sprintf("%d × %s", n, l.kept[0]))
		l.kept = l.kept[n:]
	}
	return got
}
