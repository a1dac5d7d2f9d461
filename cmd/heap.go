package cmd

import (
	"math"
	"runtime"
	"runtime/debug"
)

// The runtime collects garbage when the heap has grown by a percentage of the live heap. The heap of this process is
// small, so it would be collected often. The ballast is memory that counts as live but is never written to, so it
// never becomes resident. With the ballast and a smaller percentage, the process allocates 15 MiB plus a quarter of
// the live heap between two collections. This is more than with Go's default if the live heap is small, and less if
// it is large, for example during an attack. See docs/decisions/0006-ballast.md.
const (
	ballastBytes = 60 << 20
	gcPercent    = 25
)

// tuneHeap allocates the ballast and sets the percentage. restore undoes both. If GOGC is set, tuneHeap does not
// change anything. GOMEMLIMIT keeps its meaning, because tuneHeap raises the limit by the size of the ballast.
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
