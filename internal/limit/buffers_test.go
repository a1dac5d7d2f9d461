package limit

import "testing"

func TestBuffers(t *testing.T) {
	var b Buffers
	for size, want := range map[int64]int{
		1: 4 << 10, 4 << 10: 4 << 10, 4<<10 + 1: 8 << 10, 13_000: 16 << 10, 32 << 10: 32 << 10, 32<<10 + 1: 64 << 10,
		97_000: 96 << 10, 162_600: 160 << 10, MaxBuffer: MaxBuffer,
		MaxBuffer + 1: MaxBuffer + 1, MaxBuffer + 32<<10: MaxBuffer + 32<<10, 20 << 20: 20 << 20, 0: 4 << 10,
	} {
		for range 3 {
			got := b.Get(size)
			if int64(len(got)) != size || cap(got) != want {
				t.Errorf("%d: got %d bytes and room for %d, want room for %d", size, len(got), cap(got), want)
			}
			b.Put(got)
		}
	}
	b.Put(nil)
	b.Put(make([]byte, 5000)) // from elsewhere
	if got := b.Get(5000); cap(got) != 8<<10 {
		t.Errorf("got room for %d bytes", cap(got))
	}
}
