package handlers

import (
	"math/bits"
	"sync"
)

// buffers keeps the memory of bodies and answers for the next ones: they are most of what a review allocates, and memory that is new
// has to be cleared and collected. What nobody uses goes back with the next two garbage collections. The zero value is
// ready to use.
type buffers struct {
	pools [classes]sync.Pool // of *[]byte; those of pool i have a capacity of room(i)
}

// classes are the smallest buffer and its doubles up to 32 KiB, and from there on every multiple of that up to mostBytes: so that
// large buffers take up little more than is asked for. Still larger ones are rare and are not kept.
const (
	classes  = 11
	smallest = 4 << 10
	doubling = 32 << 10
)

// get returns size bytes, with anything in them.
func (b *buffers) get(size int64) []byte {
	i := class(size)
	if i >= classes {
		return make([]byte, size)
	}
	if p, ok := b.pools[i].Get().(*[]byte); ok {
		return (*p)[:size]
	}
	return make([]byte, size, room(i))
}

// put takes a buffer back. Nobody may use it any more.
func (b *buffers) put(buffer []byte) {
	if i := class(int64(cap(buffer))); i < classes && cap(buffer) == room(i) {
		kept := buffer // not buffer itself, which would cost memory even where it is not kept
		b.pools[i].Put(&kept)
	}
}

// class returns the number of the pool of the smallest buffers that have room for size bytes; it may be one that there
// is not.
func class(size int64) int {
	size = max(size-1, 0)
	if size < doubling {
		return bits.Len64(uint64(size) / smallest)
	}
	return 3 + int(size/doubling)
}

func room(class int) int {
	if class <= 3 {
		return smallest << class
	}
	return (class - 2) * doubling
}
