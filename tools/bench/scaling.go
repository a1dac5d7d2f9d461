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
	for i, row := range costliest.Scaling() {
		if i%o.rows != o.part || !strings.Contains(row.Name, o.only) {
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
func (m *worstMeter) takeScaled(ctx context.Context, row costliest.Row, tries, n int) (r scaledRow, err error) {
	r = scaledRow{row.Name, time.Hour, time.Hour}
	small, large := row.Body(scaledSize), row.Body(2*scaledSize)
	for range tries {
		first, _, err := m.send(ctx, m.servers["one"], row.Path, small, n)
		if err != nil {
			return r, err
		}
		second, _, err := m.send(ctx, m.servers["one"], row.Path, large, n)
		if err != nil {
			return r, err
		}
		r.small, r.large = min(r.small, first), min(r.large, second)
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
