package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// latencies contains the 99th percentile of response times at half of the rate that evergate can serve, in
// milliseconds, with one value for each round.
type latencies struct {
	rate           float64 // reviews per second
	floor, example []float64
}

func (l *latencies) ratio() float64 { return median(quotients(l.example, l.floor)) }

// quiet reports whether the values measure the servers and not the machine. The floor needs a tenth of a millisecond of
// a core for a call. If one call in a hundred takes more than a hundred times as long, it has waited for the machine,
// and every server would.
func (l *latencies) quiet() bool { return median(l.floor) <= 10 }

// measureLatency sends typical Pods at the same rate to the floor and to evergate, in turn. Both have been called
// before, on the same number of connections.
func (r *rig) measureLatency(ctx context.Context, w io.Writer, typical *review, rounds int,
	round time.Duration) (*latencies, error) {
	servers, stop, err := r.servers(ctx, "floor", "example")
	if err != nil {
		return nil, err
	}
	defer stop()
	client := r.client()
	ours, theirs := newSender(typical, servers["example"], client), newSender(typical, servers["floor"], client)
	if _, err := theirs.saturate(ctx, idleConnections, round); err != nil {
		return nil, err
	}
	var rates []float64
	for range 4 {
		calls, err := ours.saturate(ctx, idleConnections, round)
		if err != nil {
			return nil, err
		}
		rates = append(rates, float64(calls)/round.Seconds())
	}
	l := &latencies{rate: median(rates[1:]) / 2} // the first one opens the connections and warms up
	turns := []struct {
		*sender
		figures *[]float64
	}{{theirs, &l.floor}, {ours, &l.example}}
	for range rounds {
		slices.Reverse(turns) // no server is always second
		for _, t := range turns {
			took, err := t.pace(ctx, l.rate, round)
			if err != nil {
				return nil, err
			}
			slices.Sort(took)
			*t.figures = append(*t.figures, took[len(took)*99/100].Seconds()*1000)
		}
	}
	fmt.Fprintf(w, "  p99 at %.0f typical Pods a second: floor %.2f ms, evergate %.2f ms, ratio %.2f\n",
		l.rate, median(l.floor), median(l.example), l.ratio())
	return l, nil
}

// measureStart starts evergate several times and returns the times from exec to ready.
func (r *rig) measureStart(ctx context.Context, w io.Writer, times int) (took []float64, err error) {
	for range times {
		s, err := r.evergate(ctx, "example")
		if err != nil {
			return nil, err
		}
		s.stop()
		took = append(took, s.took.Seconds()*1000)
	}
	fmt.Fprintf(w, "  ready %.0f ms after exec (%.0f to %.0f)\n", median(took), slices.Min(took), slices.Max(took))
	return took, nil
}

// size returns the size of the binary in bytes.
func (r *rig) size() (int64, error) {
	info, err := os.Stat(r.path("evergate"))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
