package limit

import (
	"math/bits"
	"sync"
)

// Buffers keeps the memory of bodies and answers for the next ones: they are most of what a review allocates, and new
// memory has to be cleared and collected. What is not used goes with the next two garbage collections. The zero value
// is ready to use.
type Buffers struct {
	pools [classes]sync.Pool // of *[]byte; those of pool i have a capacity of room(i)
}

// Buffers have 4 KiB and its doubles up to 32 KiB, and from there on every multiple of that up to MaxBuffer, so that
// large ones take up little more than is asked for. Still larger ones are rare and are not kept.
const (
	MaxBuffer = 256 << 10

	smallest = 4 << 10
	doubling = 32 << 10
	classes  = 3 + MaxBuffer/doubling
)

// Get returns size bytes, with anything in them.
func (b *Buffers) Get(size int64) []byte {
	i := class(size)
	if i >= classes {
		return make([]byte, size)
	}
	if p, ok := b.pools[i].Get().(*[]byte); ok {
		return (*p)[:size]
	}
	return make([]byte, size, room(i))
}

// Put takes a buffer back, which must not be used any more.
func (b *Buffers) Put(buffer []byte) {
	if i := class(int64(cap(buffer))); i < classes && cap(buffer) == room(i) {
		kept := buffer // not buffer itself, which would cost memory even where it is not kept
		b.pools[i].Put(&kept)
	}
}

// class returns the pool of the smallest buffers that have room for size bytes, or classes and more if there is none.
func class(size int64) int {
	size = max(size-1, 0)
	if size < doubling {
		return bits.Len64(uint64(size) / smallest)
	}
	return 3 + int(size/doubling)
}

// room is the capacity of the buffers of a pool.
func room(class int) int {
	if class <= 3 {
		return smallest << class
	}
	return (class - 2) * doubling
}
