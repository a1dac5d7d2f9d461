// Package reload keeps values that are built from files up to date while the files are replaced: a policy, a
// certificate and its key, a CA bundle.
//
// Files are polled. Notification by the kernel would save a second at most, and it is lost across the symlink swap by
// which kubelet shows a changed ConfigMap or Secret. A read of several files never mixes two versions of a volume.
//
// Two rules keep a value good:
//
//   - A change counts only once two reads, some time apart, agree. A file that is being written in place is incomplete
//     for a moment, and a part of a policy may well be a valid policy that allows more; half of a key pair is not worth
//     an error yet.
//   - What cannot be read or is refused leaves the last good value in force, and is reported once, not at every poll.
package reload

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// DefaultInterval is the time between two polls: short, since kubelet may be told to show a change at once
	// (kubectl evergate apply), and long against a poll, which costs less than a millisecond for a policy of 20 KiB.
	DefaultInterval = time.Second

	// maxSettle bounds how long a change must hold still, which is an interval otherwise: a second is long against the
	// writing of a file.
	maxSettle = time.Second

	// waitInterval is the time between two polls while there is no value yet and a process cannot start without one.
	waitInterval = time.Second
)

// Value is a T that is built from files. Its fields are set before its methods are called, and not changed then.
//
// Current may be called by any goroutine at any time. Load, Wait and Run are called by one goroutine at a time, which
// is also the one that calls Build, Loaded and Refused.
type Value[T any] struct {
	// Read reads the files: ReadFiles or ReadDir of certain paths.
	Read func() ([]File, error)

	// Build makes a value of the files' content, or says why not.
	Build func([]File) (*T, error)

	// Loaded is called for each value that comes into force, with the one before it, which is nil for the first. It is
	// also called when files that were refused have become again what is in force.
	Loaded func(was, is *T)

	// Refused is called when the files are not taken, once for each content and reason.
	Refused func(error)

	// Recheck has refused files built anew at every poll, for a Build that may come to another answer as time goes by:
	// a certificate that is not valid yet.
	Recheck bool

	current atomic.Pointer[T]
	seen    bool // last and refusal mean something
	last    look
	refusal error // why last is not in force
}

// look is what one read brought.
type look struct {
	files []File
	err   error
}

func (l look) equal(m look) bool {
	if l.err != nil || m.err != nil {
		return l.err != nil && m.err != nil && l.err.Error() == m.err.Error()
	}
	return slices.EqualFunc(l.files, m.files, func(a, b File) bool {
		return a.Name == b.Name && bytes.Equal(a.Data, b.Data)
	})
}

// Current returns the value in force, or nil if none was ever good.
func (v *Value[T]) Current() *T { return v.current.Load() }

// Load reads the files now. It returns nil if what they hold is in force, and otherwise why it is not.
func (v *Value[T]) Load() error { return v.take(v.read()) }

// Wait reads the files every second until a value is in force. When ctx ends first, it returns why there is none.
func (v *Value[T]) Wait(ctx context.Context) error {
	for {
		err := v.Load()
		if err == nil || !pause(ctx, waitInterval) {
			return err
		}
	}
}

// Run polls the files at an interval until ctx ends.
func (v *Value[T]) Run(ctx context.Context, interval time.Duration) {
	for pause(ctx, interval) {
		if l, still := v.settle(ctx, min(interval, maxSettle)); still {
			_ = v.take(l) // Refused was called
		}
	}
}

// settle reads the files, and as long as they differ from what was seen last, reads them again until two reads, some
// time apart, agree. It returns false when ctx ends first.
func (v *Value[T]) settle(ctx context.Context, apart time.Duration) (look, bool) {
	now := v.read()
	for !v.seen || !now.equal(v.last) {
		if !pause(ctx, apart) {
			return look{}, false
		}
		again := v.read()
		if again.equal(now) {
			break
		}
		now = again
	}
	return now, true
}

func (v *Value[T]) read() look {
	files, err := v.Read()
	return look{files, err}
}

// take puts into force what was read, if it is new and good.
func (v *Value[T]) take(l look) error {
	changed := !v.seen || !l.equal(v.last)
	if !changed && (v.refusal == nil || !v.Recheck) {
		return v.refusal
	}
	before := v.refusal
	v.seen, v.last, v.refusal = true, l, l.err

	var is *T
	if v.refusal == nil {
		is, v.refusal = v.Build(l.files)
	}
	switch {
	case v.refusal == nil:
		v.Loaded(v.current.Swap(is), is)
	case changed || v.refusal.Error() != before.Error():
		v.Refused(v.refusal)
	}
	return v.refusal
}

// pause waits for d. It returns false at once when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
