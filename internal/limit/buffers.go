package limit

import (
	"slices"
	"sync"
)

// Buffers is a pool of memory for bodies and responses. These are most of the memory that a review allocates, and new
// memory has to be cleared and collected. The next two garbage collections free the buffers that are not used. The zero
// value is ready to use.
type Buffers struct {
	pools [classes]sync.Pool // of *[]byte; the buffers in pool i have the capacity rooms()[i]
}

// MaxBuffer is the size of the largest buffers. Larger buffers are rare and are not kept.
const MaxBuffer = 256 << 10

const classes = 11

// rooms returns the capacities of the buffers in the pools. There are enough of them that large buffers take only a
// little more than the requested size.
func rooms() [classes]int {
	const kiB = 1 << 10
	return [classes]int{
		4 * kiB, 8 * kiB, 16 * kiB, 32 * kiB, 64 * kiB, 96 * kiB, 128 * kiB, 160 * kiB, 192 * kiB, 224 * kiB, MaxBuffer,
	}
}

// Get returns a buffer of size bytes. Its contents are undefined.
func (b *Buffers) Get(size int64) []byte {
	of := rooms()
	i, _ := slices.BinarySearch(of[:], int(size))
	if i == classes {
		return make([]byte, size)
	}
	if p, ok := b.pools[i].Get().(*[]byte); ok {
		return (*p)[:size]
	}
	return make([]byte, size, of[i])
}

// Put returns a buffer to the pool. The caller must not use it afterwards.
func (b *Buffers) Put(buffer []byte) {
	of := rooms()
	if i, found := slices.BinarySearch(of[:], cap(buffer)); found {
		kept := buffer // a copy of the variable, because buffer itself would be allocated on the heap even if it is not kept
		b.pools[i].Put(&kept)
	}
}
