//go:build race

package worst

// Race says that the race detector is on: then sync.Pool drops a quarter of what it is given, so that what is used
// again without it (the memory of regular expressions) is allocated anew.
const Race = true
