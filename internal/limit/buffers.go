package limit

import (
	"math/bits"
	"sync"
)

// Buffers is a pool of memory for bodies and responses. These are most of the memory that a review allocates, and new
// memory has to be cleared and collected. The next two garbage collections free the buffers that are not used. The zero
// value is ready to use.
type Buffers struct {
	pools [classes]sync.Pool // of *[]byte; the buffers in pool i have a capacity of room(i)
}

// Buffers have sizes of 4, 8, 16 and 32 KiB, and then every multiple of 32 KiB up to MaxBuffer. In this way, large
// buffers take only a little more than the requested size. Larger buffers are rare and are not kept.
const (
	MaxBuffer = 256 << 10

	smallest = 4 << 10
	doubling = 32 << 10
	classes  = 3 + MaxBuffer/doubling
)

// Get returns a buffer of size bytes. Its contents are undefined.
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

// Put returns a buffer to the pool. The caller must not use it afterwards.
func (b *Buffers) Put(buffer []byte) {
	if i := class(int64(cap(buffer))); i < classes && cap(buffer) == room(i) {
		kept := buffer // a copy of the variable, because buffer itself would be allocated on the heap even if it is not kept
		b.pools[i].Put(&kept)
	}
}

// class returns the pool of the smallest buffers that have room for size bytes, or classes or more if no pool does.
func class(size int64) int {
	size = max(size-1, 0)
	if size < doubling {
		return bits.Len64(uint64(size) / smallest)
	}
	return 3 + int(size/doubling)
}

// room returns the capacity of the buffers in a pool.
func room(class int) int {
	if class <= 3 {
		return smallest << class
	}
	return (class - 2) * doubling
}
