// Package reload keeps values that are built from files up to date when the files are replaced: a policy, a certificate
// and its key, a CA bundle.
//
// Files are polled. Notification by the kernel would save at most a second, and it is lost when the kubelet swaps the
// symlink of a changed ConfigMap or Secret. A read of several files never mixes two versions of a volume.
//
// Two rules keep a value valid:
//
//   - A change counts only when two reads, some time apart, return the same contents. A file that is being written in
//     place is incomplete for a moment. Part of a policy may be a valid policy that allows more, and half of a key pair
//     should not cause an error yet.
//   - If files cannot be read or fail to load, the last good value stays active. The failure is reported once, and not
//     at every poll.
package reload

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// DefaultInterval is the time between two polls. It is short because the kubelet may show a change immediately
	// (kubectl evergate apply), and long compared with a poll, which takes less than a millisecond for a policy of 20
	// KiB.
	DefaultInterval = time.Second

	// maxSettle is the longest time for which a change must stay the same before it counts. Otherwise, the time is one
	// interval. A second is long compared with the writing of a file.
	maxSettle = time.Second

	// waitInterval is the time between two polls while the process waits for its first value.
	waitInterval = time.Second
)

// Value is a T that is built from files. Set its fields before calling its methods, and do not change them afterwards.
//
// Current is safe for concurrent use. Call Load, Wait and Run from one goroutine at a time. They call Read, Build
// and the other callbacks in that goroutine.
type Value[T any] struct {
	// Read reads the files with ReadFiles or ReadDir.
	Read func() ([]File, error)

	// Build builds a value from the contents of the files.
	Build func([]File) (*T, error)

	// Loaded is called for each value that becomes active, with the value before it, which is nil for the first value.
	// It is also called if files failed to load and now have the contents of the active value again.
	Loaded func(was, is *T)

	// Failed is called if the files fail to load, once for each content and reason.
	Failed func(error)

	// Recheck makes every poll build files again that failed to load. It is for a Build whose result depends on the
	// time, for example because a certificate is not valid yet.
	Recheck bool

	current atomic.Pointer[T]
	seen    bool // whether the fields below are set
	last    look
	failure error // why last is not active
}

// look is the result of one read.
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

// Current returns the active value, or nil if no value has been active yet.
func (v *Value[T]) Current() *T { return v.current.Load() }

// Load reads the files now. It returns nil if their contents are active, and otherwise the reason that they are not.
func (v *Value[T]) Load() error { return v.take(v.read()) }

// Wait reads the files every second until a value is active. If ctx ends first, it returns the reason.
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
			_ = v.take(l) // take reports new errors itself
		}
	}
}

// settle reads the files. While they differ from the last contents, it reads them again until two reads, some time
// apart, are equal. It returns false if ctx ends first.
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

// take activates the contents of a read if they are new and valid.
func (v *Value[T]) take(l look) error {
	changed := !v.seen || !l.equal(v.last)
	if !changed && (v.failure == nil || !v.Recheck) {
		return v.failure
	}
	before := v.failure
	v.seen, v.last, v.failure = true, l, l.err

	var is *T
	if v.failure == nil {
		is, v.failure = v.Build(l.files)
	}
	switch {
	case v.failure == nil:
		v.Loaded(v.current.Swap(is), is)
	case changed || v.failure.Error() != before.Error():
		v.Failed(v.failure)
	}
	return v.failure
}

// pause waits for d. It returns false immediately when ctx ends.
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
