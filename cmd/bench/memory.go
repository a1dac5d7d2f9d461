package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// crowd is the number of concurrent clients when memory is measured.
const crowd = 64

// memories contains the resident memory of evergate, in bytes.
type memories struct {
	idle   int64   // when it is ready
	most   int64   // the peak, with every body in turn
	length int64   // number of reviews in a long run
	tenths []int64 // after each tenth of it
}

// drift returns the memory at the end of the long run as a multiple of the memory after a tenth of it.
func (m *memories) drift() float64 { return float64(m.tenths[len(m.tenths)-1]) / float64(m.tenths[0]) }

// measureMemory makes 64 clients send each body for some time. It then sends the typical body many times to another
// process. In the first process, growth would not be visible, because it would fill the memory that the largest bodies
// have left.
func (r *rig) measureMemory(ctx context.Context, w io.Writer, reviews []*review, each time.Duration,
	length int64) (*memories, error) {
	m := &memories{length: length}
	if err := r.measureBodies(ctx, w, reviews, each, m); err != nil {
		return nil, err
	}
	return m, r.measureDrift(ctx, w, reviews[1], m)
}

func (r *rig) measureBodies(ctx context.Context, w io.Writer, reviews []*review, each time.Duration,
	m *memories) error {
	s, err := r.evergate(ctx, "example")
	if err != nil {
		return err
	}
	defer s.stop()
	client := r.client()
	time.Sleep(time.Second) // the work at startup has finished by then
	now, err := s.memory()
	if err != nil {
		return err
	}
	m.idle = now.now
	for _, review := range reviews {
		if _, err := newSender(review, s, client).saturate(ctx, crowd, each); err != nil {
			return err
		}
		if now, err = s.memory(); err != nil {
			return err
		}
		fmt.Fprintf(w, "  %-36s %3.0f MiB now, %3.0f MiB at most\n", review.title(), mebibytes(now.now), mebibytes(now.peak))
	}
	m.most = now.peak
	return nil
}

func (r *rig) measureDrift(ctx context.Context, w io.Writer, typical *review, m *memories) error {
	s, err := r.evergate(ctx, "example")
	if err != nil {
		return err
	}
	defer s.stop()
	calls := newSender(typical, s, r.client())
	fmt.Fprintf(w, "  %d typical Pods, after each tenth:", m.length)
	for range 10 {
		if _, err := calls.repeat(ctx, crowd, func(begun int64) bool { return begun <= m.length/10 }); err != nil {
			return err
		}
		now, err := s.memory()
		if err != nil {
			return err
		}
		m.tenths = append(m.tenths, now.now)
		m.most = max(m.most, now.peak)
		fmt.Fprintf(w, " %.0f", mebibytes(now.now))
	}
	fmt.Fprintln(w, " MiB")
	return nil
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
