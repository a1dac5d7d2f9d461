package cmd

import (
	"math"
	"runtime"
	"runtime/debug"
)

// Go collects garbage when the heap has grown by a share of what is in use, so that a small heap is collected often: with the
// 5 MiB of this process, after each 700 reviews. The ballast is memory that counts as in use, but that nobody ever writes to, so
// that it never becomes resident. With it and a smaller share as much is allocated between two collections whatever is in
// use: 18 MiB, and a quarter of what is in use. That is more than Go would take with little in use, and less with much, as under
// an attack.
const (
	ballastBytes = 64 << 20
	gcPercent    = 25
)

// tuneHeap makes it so until restore is called. Of GOGC and GOMEMLIMIT, where they are set, the first is left as it is, and the
// second means what is in use without the ballast.
func tuneHeap() (restore func()) {
	const byDefault = 100
	percent := debug.SetGCPercent(gcPercent)
	if percent != byDefault {
		debug.SetGCPercent(percent)
		return func() {}
	}
	ballast := make([]byte, ballastBytes)
	limit := debug.SetMemoryLimit(-1)
	if limit < math.MaxInt64-ballastBytes {
		debug.SetMemoryLimit(limit + ballastBytes)
	}
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		runtime.KeepAlive(ballast)
	}
}
