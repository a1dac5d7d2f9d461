package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// crowd is how many callers call at one time where memory is measured.
const crowd = 64

// memories is the resident memory of evergate, in bytes.
type memories struct {
	idle   int64 // after it has become ready
	most   int64 // ever, under every body in turn
	early  int64 // after a tenth of the reviews of the longest run
	late   int64 // at its end
	length int64 // of that run, in reviews
}

// measureMemory lets 64 callers send each body for a time, and then the typical one often.
func (r *rig) measureMemory(ctx context.Context, w io.Writer, reviews []*review, each time.Duration, length int64) (*memories, error) {
	s, err := r.evergate(ctx, "evergate", "example")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	client := r.client()
	time.Sleep(time.Second) // what it does when it starts is over by then
	m := &memories{length: length}
	now, err := s.memory()
	if err != nil {
		return nil, err
	}
	m.idle = now.now
	for _, review := range reviews {
		if _, err := newCaller(review, s, client).saturate(ctx, crowd, each); err != nil {
			return nil, err
		}
		if now, err = s.memory(); err != nil {
			return nil, err
		}
		fmt.Fprintf(w, "  %-36s %3.0f MiB now, %3.0f MiB at most\n", review.title(), mebibytes(now.now), mebibytes(now.peak))
	}
	const slices = 10
	typical := newCaller(reviews[1], s, client)
	for i := range slices {
		if _, err := typical.repeat(ctx, crowd, func(begun int64) bool { return begun <= length/slices }); err != nil {
			return nil, err
		}
		if now, err = s.memory(); err != nil {
			return nil, err
		}
		if i == 0 {
			m.early = now.now
		}
	}
	m.late, m.most = now.now, now.peak
	fmt.Fprintf(w, "  %-36s %3.0f MiB after a tenth, %3.0f MiB at the end\n",
		fmt.Sprintf("%d typical Pods", length), mebibytes(m.early), mebibytes(m.late))
	return m, nil
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
