package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// connections is the number of concurrent clients when costs are measured.
const connections = 8

// cost is the cost of one review: processor time of the server process, user and system.
type cost struct {
	review *review
	// One value for each round, in microseconds: for the floor, for evergate, for evergate with many entries, and, for
	// objects with hosts, for evergate with many owned hosts. The values of the peer are in many.
	floor, example, many, owned []float64
}

// figures returns the values of a server, or nil if the review is not sent to it.
func (c *cost) figures(server string) *[]float64 {
	switch {
	case server == "floor":
		return &c.floor
	case server == "example":
		return &c.example
	case server == "owned" && !c.review.hosts:
		return nil
	case server == "owned":
		return &c.owned
	default:
		return &c.many
	}
}

// ratio returns the cost of evergate as a multiple of the floor's. It compares only values of the same round, because
// shared machines are faster in one minute than in the next.
func (c *cost) ratio() float64 { return median(quotients(c.example, c.floor)) }

// growth returns the cost with a larger policy, whose values are given, as a multiple of the cost with the example.
func (c *cost) growth(larger []float64) float64 { return median(quotients(larger, c.example)) }

// sittings is the number of times that the servers are started. Two processes of the same binary differ by two or three
// percent for as long as they run.
const sittings = 4

// measureCosts measures the costs of evergate with all policies.
func (r *rig) measureCosts(ctx context.Context, w io.Writer, reviews []*review, rounds int,
	round int64) ([]*cost, error) {
	costs, err := r.sitAll(ctx, reviews, rounds, round, "floor", "example", "many", "owned")
	if err != nil {
		return nil, err
	}
	for _, c := range costs {
		fmt.Fprintf(w, "  %-36s floor %6.1f µs, evergate %6.1f µs, ratio %.2f (%.2f to %.2f), many entries %+.0f %%",
			c.review.title(), median(c.floor), median(c.example), c.ratio(),
			slices.Min(quotients(c.example, c.floor)), slices.Max(quotients(c.example, c.floor)), 100*(c.growth(c.many)-1))
		if c.owned != nil {
			fmt.Fprintf(w, ", owned hosts %+.0f %%", 100*(c.growth(c.owned)-1))
		}
		fmt.Fprintln(w)
	}
	return costs, nil
}

// sitAll sends the same reviews to the servers in turn, in short rounds, which it divides among sittings.
func (r *rig) sitAll(ctx context.Context, reviews []*review, rounds int, round int64,
	names ...string) ([]*cost, error) {
	var costs []*cost
	for _, review := range reviews {
		costs = append(costs, &cost{review: review})
	}
	for i := range sittings {
		if err := r.sit(ctx, costs, (rounds+i)/sittings, round, names); err != nil {
			return nil, err
		}
	}
	return costs, nil
}

// sit starts the servers and adds the values of some rounds to all costs.
func (r *rig) sit(ctx context.Context, costs []*cost, rounds int, round int64, names []string) error {
	if rounds == 0 {
		return nil
	}
	servers, stop, err := r.servers(ctx, names...)
	if err != nil {
		return err
	}
	defer stop()
	client := r.client()
	for _, c := range costs {
		var turns []turn
		for _, name := range names {
			if figures := c.figures(name); figures != nil {
				turns = append(turns, turn{newSender(c.review, servers[name], client), servers[name], figures})
			}
		}
		if err := takeTurns(ctx, turns, rounds, max(1, round/c.review.weight())); err != nil {
			return fmt.Errorf("%s: %w", c.review.name, err)
		}
	}
	return nil
}

// takeTurns measures rounds of n reviews. It does not measure the first round, which opens the connections and warms
// up.
func takeTurns(ctx context.Context, turns []turn, rounds int, n int64) error {
	for i := range rounds + 1 {
		for j := range turns {
			t := turns[(i+j)%len(turns)] // a server does not always follow the same one
			micros, err := t.take(ctx, n)
			if err != nil {
				return fmt.Errorf("%s: %w", t.server.name, err)
			}
			if i > 0 {
				*t.figures = append(*t.figures, micros)
			}
		}
	}
	return nil
}

// turn is the work of one server in one round.
type turn struct {
	*sender
	server  *server
	figures *[]float64
}

// take measures one round, in microseconds per review.
func (t turn) take(ctx context.Context, n int64) (micros float64, err error) {
	before, err := t.server.cpu()
	if err != nil {
		return 0, err
	}
	calls, err := t.repeat(ctx, connections, func(begun int64) bool { return begun <= n })
	if err != nil {
		return 0, err
	}
	after, err := t.server.cpu()
	return (after - before).Seconds() * 1e6 / float64(calls), err
}

func quotients(a, b []float64) []float64 {
	q := make([]float64, len(a))
	for i := range a {
		q[i] = a[i] / b[i]
	}
	return q
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
