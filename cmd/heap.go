package cmd

// leastHeap is how much a process allocates at least between two garbage collections. Go collects when the heap has
// doubled, which for the 4 MiB that are in use means after every hundredth review, or twentieth large one, and each
// collection looks at all of them. With this it is a quarter as often, for 15 MiB of resident memory; a heap that is
// larger by itself is collected as it would have been, unlike with a higher GOGC.
const leastHeap = 16 << 20

// newBallast returns memory that nobody ever writes to, so that it never becomes resident, and that the garbage collector
// counts as in use for as long as somebody holds it.
func newBallast() []byte { return make([]byte, leastHeap) }
