package cmd

import (
	"math"
	"runtime"
	"runtime/debug"
)

// Go collects garbage when the heap has grown by a share of what is in use, so that a small heap, as of this process, is collected
// often. The ballast is memory that counts as in use, but that nobody ever writes to, so that it never becomes resident. With it and
// a smaller share 15 MiB are allocated between two collections, and a quarter of what is in use: more than Go would take with little in
// use, and less with much, as under an attack. See docs/decisions/0006-ballast.md.
const (
	ballastBytes = 60 << 20
	gcPercent    = 25
)

// tuneHeap makes it so until restore is called. Where GOGC is set, all is left as it is. GOMEMLIMIT means what it did, without the
// ballast.
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
