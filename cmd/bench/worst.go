package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
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
	every   int   // one of this number of rows is measured
	reviews int64 // in one measurement, because some are too short to measure alone
	huge    bool  // only one huge value
}

// worstSizes returns the maximum size of annotations, the maximum size of an object in etcd, about the maximum text of
// an object in memory, and about the maximum size of a review.
func worstSizes() []worstSize {
	return []worstSize{
		{256 << 10, 2, 8, false},
		{1400 << 10, 3, 3, false},
		{2900 << 10, 17, 2, true},
		{19 << 20, 7, 1, true},
	}
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

// single reports whether the row is one huge value that one rule of each kind evaluates, or ten regular expressions are
// compared with.
func (r *worstRow) single() bool { return !r.Many && r.policy != "ten" }

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
	if r.single() {
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

// measureWorst measures the costliest reviews, prints the ten worst, and returns an error if a limit is exceeded. o
// selects rows by their names, and one of several parts of the rows.
func (r *rig) measureWorst(ctx context.Context, w io.Writer, o options) error {
	pod, err := r.measurePod(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n\nthe floor for a typical Pod: %.1f µs\n\n", machine(), pod.Seconds()*1e6)
	servers, stop, err := r.servers(ctx, "one", "ten", "regexes", "floor")
	if err != nil {
		return err
	}
	defer stop()
	m := &worstMeter{client: r.client(), floor: servers["floor"], servers: servers, pod: pod}
	var all []*worstRow
	for _, size := range worstSizes() {
		for row := range costliest.Rows(size.every*o.worst, size.every*o.part) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !strings.Contains(row.Name, o.only) || size.huge && row.Many {
				continue
			}
			of, err := m.measure(ctx, row, size)
			if err != nil {
				return err
			}
			all = append(all, of...)
			for _, r := range of {
				if broken := r.broken(); broken != nil {
					fmt.Fprintf(w, "FAIL  %v: %s\n", r, strings.Join(broken, "; "))
				}
			}
		}
	}
	return errors.Join(printWorst(w, all), m.measureScaling(ctx, w, o))
}

// printWorst prints the ten worst rows and whether every row keeps its limits. It returns an error with the number of
// rows that exceed a limit.
func printWorst(w io.Writer, all []*worstRow) error {
	if len(all) == 0 {
		return errors.New("no row was measured")
	}
	failed := 0
	for _, r := range all {
		if r.broken() != nil {
			failed++
		}
	}
	for _, order := range []struct {
		what string
		cmp  func(a, b *worstRow) int
	}{
		{"processor time", func(a, b *worstRow) int { return cmp.Compare(b.took, a.took) }},
		{"processor time as a multiple of the floor's", func(a, b *worstRow) int {
			return cmp.Compare(b.ratio(), a.ratio())
		}},
		{"bytes allocated, as a multiple of the body", func(a, b *worstRow) int {
			return cmp.Compare(float64(b.allocated)/float64(b.size), float64(a.allocated)/float64(a.size))
		}},
	} {
		fmt.Fprintf(w, "\nthe ten worst of %d, by %s:\n", len(all), order.what)
		slices.SortStableFunc(all, order.cmp)
		for _, r := range all[:min(10, len(all))] {
			fmt.Fprintf(w, "  %v\n", r)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d rows exceed their limits", failed, len(all))
	}
	fmt.Fprintf(w, "\nall %d rows keep their limits\n", len(all))
	return nil
}

// worstMeter measures rows.
type worstMeter struct {
	client  *http.Client
	floor   *server
	servers map[string]*server
	pod     time.Duration // processor time of the floor for a typical Pod
}

// measurePod measures how much processor time the floor uses for a typical Pod, as make bench does.
func (r *rig) measurePod(ctx context.Context) (time.Duration, error) {
	const rounds, round = 20, 1000
	typical := slices.DeleteFunc(reviews(), func(r *review) bool { return r.name != typicalPod })
	costs, err := r.sitAll(ctx, typical, rounds, round, "floor")
	if err != nil {
		return 0, err
	}
	return time.Duration(median(costs[0].floor) * float64(time.Microsecond)), nil
}

// measure measures a row at one size, with each policy that applies to it.
func (m *worstMeter) measure(ctx context.Context, row costliest.Row, size worstSize) (all []*worstRow, err error) {
	for _, policy := range []string{"one", "ten", "regexes"} {
		if policy == "one" && row.Many || policy == "regexes" && !row.Regexes() {
			continue
		}
		body := row.Body(size.bytes)
		if policy == "regexes" {
			body = row.Creation(size.bytes)
		}
		r := &worstRow{Row: row, policy: policy, size: len(body), pod: m.pod}
		for range tries {
			again := *r
			if err := m.take(ctx, &again, body, size.reviews); err != nil {
				return nil, err
			}
			if r.took == 0 || again.took < r.took || again.allocated < r.allocated {
				r = &again
			}
			if r.broken() == nil || r.took > time.Second { // noise is shorter
				break
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// take measures a row once. It returns an error only if the rig fails, and records errors about the review in r.
func (m *worstMeter) take(ctx context.Context, r *worstRow, body []byte, n int64) (err error) {
	s := m.servers[r.policy]
	r.floor, err = m.processor(m.floor, n, func() error {
		_, err := m.post(ctx, m.floor, r.Path, body)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: the floor: %w", r.Name, err)
	}
	before, err := m.allocated(ctx, s)
	if err != nil {
		return err
	}
	s.log.reset()
	r.took, err = m.processor(s, n, func() error {
		answer, err := m.post(ctx, s, r.Path, body)
		r.answer = max(r.answer, answer)
		return err
	})
	if r.err = err; ctx.Err() != nil {
		return ctx.Err()
	}
	after, err := m.allocated(ctx, s)
	r.allocated, r.line = (after-before)/n, s.log.longest()
	return err
}

// processor returns the processor time that a server uses for each of n reviews.
func (m *worstMeter) processor(s *server, n int64, review func() error) (time.Duration, error) {
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	for range n {
		if err := review(); err != nil {
			return 0, err
		}
	}
	after, err := s.cpu()
	return (after - before) / time.Duration(n), err
}

// post sends a review and returns the length of its response.
func (m *worstMeter) post(ctx context.Context, s *server, path string, body []byte) (int, error) {
	url := "https://" + s.addr + path + "?timeout=30s"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode >= http.StatusTooManyRequests { // a lower status means that it is not a valid review
		err = errors.New(resp.Status)
	}
	return int(n), err
}

// allocated returns how many bytes a server has allocated since its start.
func (m *worstMeter) allocated(ctx context.Context, s *server) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.ops+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte("\ngo_memstats_alloc_bytes_total "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseFloat(string(line), 64)
	if err != nil {
		return 0, fmt.Errorf("metrics do not contain go_memstats_alloc_bytes_total: %w", err)
	}
	return int64(n), nil
}
