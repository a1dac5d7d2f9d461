package cmd

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// About 15 MiB are allocated between two garbage collections, and GOMEMLIMIT keeps its meaning.
func TestTuneHeap(t *testing.T) {
	const limit = 400 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	restore := tuneHeap()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if room := m.NextGC - m.HeapAlloc; room < 14<<20 || room > 24<<20 {
		t.Errorf("%d MiB were allocated between two collections, want 14 to 24", room>>20)
	}
	if got := debug.SetMemoryLimit(-1); got != limit+ballastBytes {
		t.Errorf("the limit is %d MiB, want %d and the ballast", got>>20, limit>>20)
	}
	restore()
	if percent := debug.SetGCPercent(100); percent != 100 || debug.SetMemoryLimit(-1) != limit {
		t.Errorf("left behind: %d %%, a limit of %d MiB", percent, debug.SetMemoryLimit(-1)>>20)
	}
}

// GOGC in the environment overrides the tuning.
func TestTuneHeapLeavesGOGC(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	before := debug.SetMemoryLimit(-1)
	tuneHeap()()
	if percent := debug.SetGCPercent(50); percent != 50 || debug.SetMemoryLimit(-1) != before {
		t.Errorf("%d %%, want 50", percent)
	}
}
