package policy

import (
	"bytes"
	"context"
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Limits bound the time and the memory for loading a policy, whatever its text. They apply to all files together. The
// error mentions the limit that the policy exceeds.
type Limits struct {
	Files       int // keys of a ConfigMap
	Bytes       int // of text
	Values      int // of YAML: scalars, lists and mappings
	Entries     int // of all blocks
	Patterns    int // in lists, such as sources, namespaces, hosts, images and keys
	RegexSteps  int // of all regular expressions together; see match.Regex.Cost
	Comparisons int // between entries and patterns
}

// fileLimits returns the limits for a policy that a process reads from its files. A policy with ten thousand mirrors of
// eleven values each and a thousand rules is far below all limits. The same is true for a policy with fifty thousand
// sources.
func fileLimits() Limits {
	return Limits{
		Files:       256,     // a key for each of a few hundred teams
		Bytes:       8 << 20, // eight ConfigMaps; parsing takes less than 300 MiB in the worst case
		Values:      800_000, // each takes 160 bytes while a document is decoded, at most 320
		Entries:     60_000,
		Patterns:    200_000,
		RegexSteps:  200_000,   // of about 100 bytes each
		Comparisons: 1_000_000, // half a second in the worst case
	}
}

// ReviewLimits returns the limits for a policy that a client sends for a review. Any peer of the server can send one.
// The limits are the same as for files, except for the size and the number of values. Kubernetes allows 1 MiB for all
// keys of a ConfigMap.
func ReviewLimits() Limits {
	l := fileLimits()
	l.Bytes = 1 << 20
	l.Values = 200_000 // five bytes each; 64 MiB in the worst case
	return l
}

// check adds an error at the first file or the first line that exceeds a limit.
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

// comparisons limits how many comparisons between entries and patterns are made. If entries have much in common, this
// number can grow with the square of the size of the policy.
type comparisons struct {
	ctx       context.Context
	limit     int
	made      int
	over      bool // the limit is exceeded
	cancelled bool // the context is done
}

// compare counts one comparison, and reports whether it may be made.
func (e *comparisons) compare() bool { return e.spend(1) }

// spend counts n comparisons, and reports whether they may be made.
func (e *comparisons) spend(n int) bool {
	if e.made += n; e.made > e.limit {
		e.over = true
	}
	return !e.over && !e.pollDone()
}

// pollDone checks the context, and reports whether it is done.
func (e *comparisons) pollDone() bool {
	e.cancelled = e.cancelled || e.ctx.Err() != nil
	return e.cancelled
}

// errStopped returns the error for a load whose context is done.
func errStopped(ctx context.Context) error {
	return fmt.Errorf("the policy was not checked completely: %w", context.Cause(ctx))
}
