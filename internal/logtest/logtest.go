// Package logtest records log lines in the format that users read. It is for tests.
package logtest

import (
	"bytes"
	"log/slog"
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
