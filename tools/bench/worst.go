package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/evergate/evergate/review/reviewtest/costliest"
)

// The limits on the processor time of the worst reviews. Their other limits are in package costliest.
const (
	// mostRatio is the guarantee for the worst content, as a multiple of the floor with the same body. Ordinary large
	// reviews cost 1.2 to 4 times as much as the floor.
	mostRatio = 12
	// mostPods is how much more than the floor a small body with many elements, or a small body with ten rules of each
	// kind, may cost, as a multiple of the floor for a typical Pod in the same run. This is 66 ms on an Intel Xeon, on
	// which a million steps take up to 50 ms, the rest is decoding, and the costliest row takes 56 ms more than the floor.
	// With 24 such concurrent reviews on two cores, the last is answered within 0.8 s.
	mostPods = 1000
	// tries is how often a row is measured if it exceeds its limits. A busy machine, or a garbage collection that began
	// in another row, can only increase the result. With three tries, one of 20,000 rows exceeded its limit by noise.
	tries = 6
)

// worstSize is one size of bodies in make worst.
type worstSize struct {
	bytes   int
	every   int  // one of this number of rows is measured
	reviews int  // in one measurement, because some are too short to measure alone
	huge    bool // only one huge value
	pairs   bool // only pairs of parts, with one entry of each kind
}

// worstSizes returns the maximum size of annotations, the maximum size of an object in etcd, about the maximum text of
// an object in memory, and about the maximum size of a review.
func worstSizes() []worstSize {
	return []worstSize{
		{bytes: 256 << 10, every: 1, reviews: 1, pairs: true},
		{bytes: 256 << 10, every: 2, reviews: 8},
		{bytes: 1400 << 10, every: 3, reviews: 3},
		{bytes: 2900 << 10, every: 17, reviews: 2, huge: true},
		{bytes: 19 << 20, every: 7, reviews: 1, huge: true},
	}
}

// rows returns the rows of this size that o selects.
func (s worstSize) rows(o options) []costliest.Row {
	rows := costliest.Rows
	if s.pairs {
		rows = costliest.Pairs
	}
	return slices.DeleteFunc(rows(s.every*o.rows, s.every*o.part), func(r costliest.Row) bool {
		return !strings.Contains(r.Name, o.only) || s.huge && r.Many
	})
}

// regexPolicy returns a policy with ten rules. Each compares every annotation of a Service with a different regular
// expression. A search for single characters is enough for half of the expressions, and the other half take a look-up
// for each character.
func regexPolicy() string {
	var b strings.Builder
	b.WriteString("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nservices:\n")
	for i := range 10 {
		value := [...]string{".*x.*y.*%d.*", ".*(x%[1]d|y%[1]d).*"}[i%2]
		fmt.Fprintf(&b, "- {name: r%d, mode: enforce, annotations: {deniedValues: [{key: \"*\", value: \"%s\"}]}}\n",
			i, fmt.Sprintf(value, i))
	}
	return b.String()
}

// policies returns the policies with which a row is measured: with one and with ten entries of each kind, and, for one
// huge annotation or many long annotations of a Service, with regular expressions.
func (s worstSize) policies(row costliest.Row) []string {
	if s.pairs {
		return []string{"one"}
	}
	policies := []string{"ten"}
	if !row.Many {
		policies = append(policies, "one")
	}
	if row.Object && strings.HasPrefix(row.Path, "/validate/services") &&
		strings.Contains(row.Name, " metadata.annotations:") &&
		(!row.Many || strings.Contains(row.Name, costliest.LongValues)) {
		policies = append(policies, "regexes")
	}
	return policies
}

// worstRow is the cost of one row with one policy.
type worstRow struct {
	costliest.Row
	policy       string
	size         int
	floor, took  time.Duration // processor time per review
	pod          time.Duration // processor time of the floor for a typical Pod
	allocated    int64
	answer, line int   // bytes of the response and of the longest line of the log
	err          error // set if there was no response
}

func (r *worstRow) ratio() float64 { return float64(r.took) / float64(max(r.floor, 1)) }

// broken returns the limits that the row exceeds.
func (r *worstRow) broken() (all []string) {
	add := func(broken bool, format string, args ...any) {
		if broken {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	add(r.err != nil, "not answered: %v", r.err)
	more, slow := r.took-r.floor, r.ratio() > mostRatio
	if !r.Many && r.policy != "ten" {
		add(slow, "%.1f times the floor, at most %d", r.ratio(), mostRatio)
	} else {
		most := mostPods * r.pod
		add(slow && more > most, "%.1f times the floor, at most %d, and %v more than it, at most %v", r.ratio(), mostRatio,
			more.Round(time.Millisecond), most.Round(time.Millisecond))
	}
	add(r.allocated > costliest.MaxAllocated(r.size), "%.1f MiB allocated, at most %.1f",
		mebibytes(r.allocated), mebibytes(costliest.MaxAllocated(r.size)))
	add(r.answer > costliest.MaxAnswer, "a response of %d bytes, at most %d", r.answer, costliest.MaxAnswer)
	add(r.line > costliest.MaxLog, "a log line of %d bytes, at most %d", r.line, costliest.MaxLog)
	return all
}

func (r *worstRow) String() string {
	return fmt.Sprintf("%7.1f ms %6.1f × floor %6.1f ns/B %7.1f MiB allocated  %s rule(s), %.2f MiB: %s",
		r.took.Seconds()*1000, r.ratio(), float64(r.took)/float64(r.size), mebibytes(r.allocated), r.policy,
		mebibytes(int64(r.size)), r.Name)
}

// worstMeter measures rows.
type worstMeter struct {
	servers map[string]*server
	pod     time.Duration // processor time of the floor for a typical Pod
}

// measureWorst measures the costliest reviews, prints the ten worst, and returns an error if a limit is exceeded. o
// selects rows by their names, and one of several parts of the rows.
func (r *rig) measureWorst(ctx context.Context, o options) error {
	typical := slices.DeleteFunc(reviews(), func(r *review) bool { return r.name != typicalPod })
	costs, err := r.measure(ctx, typical, 12, "floor")
	if err != nil {
		return err
	}
	fmt.Printf("\nthe floor for a typical Pod: %.1f µs\n\n", costs[0].microsOf("floor"))
	servers, stop, err := r.servers(ctx, "one", "ten", "regexes", "floor")
	if err != nil {
		return err
	}
	defer stop()
	m := &worstMeter{servers, time.Duration(costs[0].microsOf("floor") * float64(time.Microsecond))}
	var all []*worstRow
	for _, size := range worstSizes() {
		for _, row := range size.rows(o) {
			for _, policy := range size.policies(row) {
				r, err := m.measure(ctx, row, policy, size)
				if err != nil {
					return err
				}
				if broken := r.broken(); broken != nil {
					fmt.Printf("FAIL  %v: %s\n", r, strings.Join(broken, "; "))
				}
				all = append(all, r)
			}
		}
	}
	return printWorst(os.Stdout, all)
}

// printWorst prints the ten worst rows and whether every row keeps its limits. It returns an error with the number of
// rows that exceed a limit.
func printWorst(w io.Writer, all []*worstRow) error {
	if len(all) == 0 {
		return errors.New("no row was measured")
	}
	for _, order := range []struct {
		what string
		key  func(*worstRow) float64
	}{
		{"processor time", func(r *worstRow) float64 { return r.took.Seconds() }},
		{"processor time as a multiple of the floor's", (*worstRow).ratio},
		{"bytes allocated, as a multiple of the body", func(r *worstRow) float64 {
			return float64(r.allocated) / float64(r.size)
		}},
	} {
		fmt.Fprintf(w, "\nthe ten worst of %d, by %s:\n", len(all), order.what)
		slices.SortStableFunc(all, func(a, b *worstRow) int { return cmp.Compare(order.key(b), order.key(a)) })
		for _, r := range all[:min(10, len(all))] {
			fmt.Fprintf(w, "  %v\n", r)
		}
	}
	failed := slices.DeleteFunc(slices.Clone(all), func(r *worstRow) bool { return r.broken() == nil })
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d rows exceed their limits", len(failed), len(all))
	}
	fmt.Fprintf(w, "\nall %d rows keep their limits\n", len(all))
	return nil
}

// measure measures a row with one policy at one size. The lowest result counts.
func (m *worstMeter) measure(ctx context.Context, row costliest.Row, policy string, size worstSize) (*worstRow, error) {
	body := row.Body(size.bytes)
	if policy == "regexes" {
		body = row.Creation(size.bytes)
	}
	var least *worstRow
	for range tries {
		r := &worstRow{Row: row, policy: policy, size: len(body), pod: m.pod}
		if err := m.take(ctx, r, body, size.reviews); err != nil {
			return nil, err
		}
		if least == nil || r.took < least.took || r.allocated < least.allocated {
			least = r
		}
		if least.broken() == nil || least.took > time.Second { // noise is shorter
			break
		}
	}
	return least, nil
}

// take measures a row once. It returns an error only if the rig fails, and records errors about the review in r.
func (m *worstMeter) take(ctx context.Context, r *worstRow, body []byte, n int) (err error) {
	s := m.servers[r.policy]
	if r.floor, _, err = m.servers["floor"].repeat(ctx, r.Path, body, n); err != nil {
		return fmt.Errorf("%s: the floor: %w", r.Name, err)
	}
	before, err := s.allocated(ctx)
	if err != nil {
		return err
	}
	s.line.Store(0)
	if r.took, r.answer, r.err = s.repeat(ctx, r.Path, body, n); ctx.Err() != nil {
		return ctx.Err()
	}
	after, err := s.allocated(ctx)
	r.allocated, r.line = (after-before)/int64(n), int(s.line.Load())
	return err
}

// repeat sends a review n times, one after the other. It returns the processor time for each and the length of the
// response.
func (s *server) repeat(ctx context.Context, path string, body []byte, n int) (
	took time.Duration, answered int, err error) {
	took, err = s.used(n, func() error {
		for range n {
			status, answer, err := s.call(ctx, http.MethodPost, s.url(path), body)
			if err == nil && status >= http.StatusTooManyRequests { // a lower status means that it is not a valid review
				err = fmt.Errorf("status %d", status)
			}
			if err != nil {
				return err
			}
			answered = max(answered, len(answer))
		}
		return nil
	})
	return took, answered, err
}
