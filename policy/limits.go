package policy

import (
	"bytes"
	"context"
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Limits bound what a policy may be, so that loading one takes time and memory in proportion to its text, and less than
// a server has, whatever the text is. They hold for all files together. What exceeds one is an error that names it.
type Limits struct {
	Files       int // a ConfigMap's keys
	Bytes       int // of text
	Values      int // of YAML: scalars, lists and mappings
	Entries     int // of mirrors, pods, ingresses and services
	Patterns    int // in lists: sources, namespaces, hosts, images, keys, …
	RegexSteps  int // of all regular expressions: see regexSteps
	Comparisons int // of entries and patterns with each other
}

// FileLimits are the limits of a policy that is read from files, by the process that it is for. A platform team with
// ten thousand mirrors of eleven values each and a thousand rules, or with fifty thousand sources, is far from all of
// them.
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

// ReviewLimits are the limits of a policy that is only reviewed, before it is anywhere: any peer of the server can
// send one. They are those of files but for its size. Kubernetes allows 1 MiB for all keys of a ConfigMap.
func ReviewLimits() Limits {
	l := fileLimits()
	l.Bytes = 1 << 20
	l.Values = 200_000 // five bytes each; 64 MiB at the worst
	return l
}

// check files an error for the file with which there are too many, or the line with which there is too much.
func (l Limits) check(files []File, errs *strict.Collector) {
	if len(files) > l.Files {
		errs.Errorf(strict.Pos{File: files[l.Files].Name, Line: 1, Column: 1},
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
			errs.Errorf(strict.Pos{File: f.Name, Line: line, Column: 1},
				"the policy has %s bytes, at most %s (%d MiB) are read", text.Thousands(total), text.Thousands(l.Bytes), l.Bytes>>20)
			return
		}
		room -= len(f.Data)
	}
}

// comparisons bounds the comparisons of entries and patterns with each other. Their number can grow with the square of the
// text, and does not where entries have little in common.
type comparisons struct {
	ctx       context.Context
	limit     int
	made      int
	over      bool // more are needed
	cancelled bool // the context is
}

// compare counts a comparison and reports whether it may be made.
func (e *comparisons) compare() bool { return e.spend(1) }

// spend counts what costs as much as n comparisons, and reports whether it may be done.
func (e *comparisons) spend(n int) bool {
	if e.made += n; e.made > e.limit {
		e.over = true
	}
	return !e.over && !e.pollDone()
}

func (e *comparisons) pollDone() bool {
	e.cancelled = e.cancelled || e.ctx.Err() != nil
	return e.cancelled
}

// errStopped is the error of a load whose context is done.
func errStopped(ctx context.Context) error {
	return fmt.Errorf("the policy was not checked to its end: %w", context.Cause(ctx))
}
