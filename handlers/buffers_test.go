package handlers

import "testing"

func TestBuffers(t *testing.T) {
	var b buffers
	for size, want := range map[int64]int{
		1: 4 << 10, 4 << 10: 4 << 10, 4<<10 + 1: 8 << 10, 13_000: 16 << 10, 32 << 10: 32 << 10, 32<<10 + 1: 64 << 10,
		97_000: 96 << 10, 162_600: 160 << 10, mostBytes: mostBytes,
		mostBytes + 1: mostBytes + 1, maxReviewBytes: maxReviewBytes, 0: 4 << 10,
	} {
		for range 3 {
			got := b.get(size)
			if int64(len(got)) != size || cap(got) != want {
				t.Errorf("%d: got %d bytes and room for %d, want room for %d", size, len(got), cap(got), want)
			}
			b.put(got)
		}
	}
	b.put(nil)
	b.put(make([]byte, 5000)) // from elsewhere
	if got := b.get(5000); cap(got) != 8<<10 {
		t.Errorf("got room for %d bytes", cap(got))
	}
}
