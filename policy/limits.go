package policy

import (
	"bytes"
	"context"
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Limits bound the time and the memory of loading a policy, whatever its text is. They apply to all files together. The
// error names the limit that a policy exceeds.
type Limits struct {
	Files       int // keys of a ConfigMap
	Bytes       int // of text
	Values      int // of YAML: scalars, lists and mappings
	Entries     int // of all blocks
	Patterns    int // in lists: sources, namespaces, hosts, images, keys, …
	RegexSteps  int // of all regular expressions: see regexSteps
	Comparisons int // of entries and patterns with each other
}

// fileLimits returns the limits of a policy that a process reads from its files. A platform team with ten thousand
// mirrors of eleven values each and a thousand rules, or with fifty thousand sources, is far from all of them.
func fileLimits() Limits {
	return Limits{
		Files:       256,     // a key for each of some hundred teams
		Bytes:       8 << 20, // eight ConfigMaps; with what parsing takes, below 300 MiB at the worst
		Values:      800_000, // 160 bytes each while a document is decoded, and 320 at the worst
		Entries:     60_000,
		Patterns:    200_000,
		RegexSteps:  200_000,   // of some 100 bytes each
		Comparisons: 1_000_000, // half a second at the worst
	}
}

// ReviewLimits returns the limits of a policy that a client sends for a review, as any peer of the server can. They are
// those of files except for the size: Kubernetes allows 1 MiB for all keys of a ConfigMap.
func ReviewLimits() Limits {
	l := fileLimits()
	l.Bytes = 1 << 20
	l.Values = 200_000 // five bytes each; 64 MiB at the worst
	return l
}

// check files an error at the first file or the first line that exceeds a limit.
func (l Limits) check(files []File, errs *strict.Collector) {
	if len(files) > l.Files {
		errs.Errorf(files[l.Files].source().Pos(1, 1),
			"the policy has %d files, at most %d are read", len(files), l.Files)
		return
	}
	total := 0
	for _, f := range files {
		total += len(f.Data)
	}
	if total <= l.Bytes {
		return
	}
	room := l.Bytes
	for _, f := range files {
		if len(f.Data) > room {
			line := 1 + bytes.Count(f.Data[:room], []byte("\n"))
			errs.Errorf(f.source().Pos(line, 1),
				"the policy has %s bytes, at most %s (%d MiB) are read",
				text.Thousands(total), text.Thousands(l.Bytes), l.Bytes>>20)
			return
		}
		room -= len(f.Data)
	}
}

// comparisons bounds the comparisons of entries and patterns with each other, whose number can grow with the square of
// the text where entries have much in common.
type comparisons struct {
	ctx       context.Context
	limit     int
	made      int
	over      bool // the limit is exceeded
	cancelled bool // the context is done
}

// compare counts one comparison and reports whether it may be made.
func (e *comparisons) compare() bool { return e.spend(1) }

// spend counts n comparisons, and reports whether they may be made.
func (e *comparisons) spend(n int) bool {
	if e.made += n; e.made > e.limit {
		e.over = true
	}
	return !e.over && !e.pollDone()
}

// pollDone polls the context, and reports whether it is done.
func (e *comparisons) pollDone() bool {
	e.cancelled = e.cancelled || e.ctx.Err() != nil
	return e.cancelled
}

// errStopped is the error of a load whose context is done.
func errStopped(ctx context.Context) error {
	return fmt.Errorf("the policy was not checked to its end: %w", context.Cause(ctx))
}
