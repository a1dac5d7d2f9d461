package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// connections is how many callers call at one time where cost is measured.
const connections = 8

// cost is what one review costs: processor time of the server process, user and system.
type cost struct {
	review *review
	// A figure for each round, in microseconds: of the floor, of evergate, and of evergate with many entries.
	floor, example, many []float64
}

// ratio is how many times as much evergate needs as the floor. Only figures of one round are compared: machines that
// are shared run faster in one minute than in the next.
func (c *cost) ratio() float64 { return median(quotients(c.example, c.floor)) }

// growth is how many times as much it needs with many entries.
func (c *cost) growth() float64 { return median(quotients(c.many, c.example)) }

// measureCosts lets the three servers answer the same reviews in turn, in short rounds.
func (r *rig) measureCosts(ctx context.Context, w io.Writer, reviews []*review, rounds int, round int64) ([]*cost, error) {
	floor, err := r.floor(ctx)
	if err != nil {
		return nil, err
	}
	defer floor.stop()
	example, err := r.evergate(ctx, "evergate", "example")
	if err != nil {
		return nil, err
	}
	defer example.stop()
	many, err := r.evergate(ctx, "evergate", "many")
	if err != nil {
		return nil, err
	}
	defer many.stop()

	var costs []*cost
	client := r.client()
	for _, review := range reviews {
		c := &cost{review: review}
		turns := []turn{
			{newCaller(review, floor, client), floor, &c.floor},
			{newCaller(review, example, client), example, &c.example},
			{newCaller(review, many, client), many, &c.many},
		}
		for i := range rounds + 1 {
			for j := range turns {
				t := turns[(i+j)%len(turns)] // nobody always comes after the same one
				micros, err := t.take(ctx, max(1, round/review.weight()))
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", t.server.name, review.name, err)
				}
				if i > 0 { // the first round opens the connections and warms up
					*t.figures = append(*t.figures, micros)
				}
			}
		}
		fmt.Fprintf(w, "  %-36s floor %6.1f µs, evergate %6.1f µs, ratio %.2f (%.2f to %.2f), many entries %+.0f %%\n",
			review.title(), median(c.floor), median(c.example), c.ratio(),
			slices.Min(quotients(c.example, c.floor)), slices.Max(quotients(c.example, c.floor)), 100*(c.growth()-1))
		costs = append(costs, c)
	}
	return costs, nil
}

// turn is what one server does in one round.
type turn struct {
	*caller
	server  *server
	figures *[]float64
}

// take measures one round, in microseconds a review.
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
