//go:build !race

package worst

// Race is true if the race detector is on.
const Race = false
