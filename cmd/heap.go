package cmd

import (
	"math"
	"runtime"
	"runtime/debug"
)

// The runtime collects garbage when the heap has grown by a percentage of what is in use. A heap as small as this
// process's is therefore collected often. The ballast is memory that counts as in use, but is never written to, so that
// it never becomes resident. With it and a smaller percentage, the process allocates 15 MiB and a quarter of what is in
// use between two collections. That is more than Go's default allows with little in use, and less with much, as under
// an attack. See docs/decisions/0006-ballast.md.
const (
	ballastBytes = 60 << 20
	gcPercent    = 25
)

// tuneHeap allocates the ballast and sets the percentage; restore undoes both. Where GOGC is set, it changes nothing.
// GOMEMLIMIT keeps its meaning: the limit grows by the ballast.
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
