package cmd

import (
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
)

const (
	// progressAfter is the time after which a silent command shows its progress.
	progressAfter = time.Second
	// progressEvery is the interval at which the line changes. It is as short as a reader can follow.
	progressEvery = 200 * time.Millisecond
	// progressObjects is the number of objects between two readings of the clock. They take a few milliseconds.
	progressObjects = 64
	// eraseLine moves to the beginning of the line and erases it (ECMA-48).
	eraseLine = "\r\x1b[K"
)

// progress shows the number of objects that have been read, on one line of a terminal, if reading takes long.
type progress struct {
	to      io.Writer // nil if stderr is not a terminal
	now     func() time.Time
	next    time.Time // when the line changes
	objects int
	shown   bool
}

// newProgress returns a progress that is shown on stderr if it is a terminal.
func newProgress(stderr io.Writer, now func() time.Time) *progress {
	if !cli.IsTerminal(stderr) {
		return &progress{}
	}
	return &progress{to: stderr, now: now}
}

// count returns the same objects and counts them.
func (p *progress) count(objects iter.Seq2[offline.Object, error]) iter.Seq2[offline.Object, error] {
	if p.to == nil {
		return objects
	}
	return func(yield func(offline.Object, error) bool) {
		p.next = p.now().Add(progressAfter)
		defer p.end()
		for object, err := range objects {
			if p.objects++; p.objects%progressObjects == 0 {
				p.show()
			}
			if !yield(object, err) {
				return
			}
		}
	}
}

func (p *progress) show() {
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressEvery), true
	fmt.Fprintf(p.to, "%s%s objects read", eraseLine, text.Thousands(p.objects))
}

// end erases the line.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.to, eraseLine)
	}
}
