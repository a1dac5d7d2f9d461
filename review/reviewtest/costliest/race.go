//go:build race

package costliest

// Race is true if the race detector is on. sync.Pool then drops a quarter of its elements, so memory that is usually
// reused, for example by regular expressions, is allocated again.
const Race = true
