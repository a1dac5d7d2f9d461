//go:build !race

package worst

// Race says whether the race detector is on.
const Race = false
