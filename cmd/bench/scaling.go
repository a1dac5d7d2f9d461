package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/evergate/evergate/review/reviewtest/costliest"
)

const (
	scaledSize  = 64 << 10 // the shorter text, in bytes
	mostScaling = 2.5      // how many times as much a text of twice the length may cost; a quadratic reader takes four
	// leastScaled is the processor time from which growth is limited. Below it, noise makes a difference. A quadratic
	// reader that takes less needs at most 120 ms for 1.4 MiB.
	leastScaled = time.Millisecond
	// A row that exceeds its limit is measured so many times again, each time with so many reviews and their share of the
	// garbage collections.
	scaledTries, scaledReviews = 5, 8
)

// scaledRow is the processor time of a review with a text of scaledSize and of twice this size.
type scaledRow struct {
	name         string
	small, large time.Duration
}

func (r *scaledRow) growth() float64 { return float64(r.large) / float64(max(r.small, 1)) }

func (r *scaledRow) broken() bool { return r.large >= leastScaled && r.growth() > mostScaling }

// measureScaling measures the texts that o selects, prints the ten whose cost grows most, and returns an error if the
// cost of a text grows too much.
func (m *worstMeter) measureScaling(ctx context.Context, w io.Writer, o options) error {
	var all []scaledRow
	n := 0
	for _, row := range costliest.Scaling() {
		if n++; n%o.worst != o.part || !strings.Contains(row.Name, o.only) {
			continue
		}
		r, err := m.takeScaled(ctx, row, 1, 1)
		if err == nil && r.broken() {
			r, err = m.takeScaled(ctx, row, scaledTries, scaledReviews)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", row.Name, err)
		}
		all = append(all, r)
	}
	return printScaling(w, all)
}

// takeScaled measures the processor time of one of several reviews. The minimum of the tries counts.
func (m *worstMeter) takeScaled(ctx context.Context, row costliest.Row, tries int, n int64) (r scaledRow, err error) {
	r, s := scaledRow{row.Name, time.Hour, time.Hour}, m.servers["one"]
	for i := range 2 * tries {
		of, body := &r.small, row.Body(scaledSize)
		if i%2 == 1 {
			of, body = &r.large, row.Body(2*scaledSize)
		}
		took, err := m.processor(s, n, func() error {
			_, err := m.post(ctx, s, row.Path, body)
			return err
		})
		if err != nil {
			return r, err
		}
		*of = min(*of, took)
	}
	return r, nil
}

func printScaling(w io.Writer, all []scaledRow) error {
	all = slices.DeleteFunc(all, func(r scaledRow) bool { return r.large < leastScaled })
	slices.SortFunc(all, func(a, b scaledRow) int { return cmp.Compare(b.growth(), a.growth()) })
	fmt.Fprintf(w, "\nthe ten of %d texts from %v whose cost grows most for twice the length:\n", len(all), leastScaled)
	for _, r := range all[:min(10, len(all))] {
		fmt.Fprintf(w, "  %8v, %8v, %.1f times as much: %s\n", r.small, r.large, r.growth(), r.name)
	}
	if len(all) > 0 && all[0].broken() {
		return fmt.Errorf("twice the length costs more than %.1f times as much", mostScaling)
	}
	return nil
}
