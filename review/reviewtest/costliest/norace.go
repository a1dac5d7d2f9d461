//go:build !race

package costliest

// Race is true if the race detector is on.
const Race = false
