package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The limits of values other than the ratios, whose limits are in reviews.
const (
	mostGrowth = 15 // percent, with 10,000 mirrors and 1,000 rules
	mostOwned  = 20 // percent, with 50,000 owned hosts; an Ingress of ten has twenty claims, each below +1 %
	mostSize   = 28 // MiB; 27.2 today, and 32 if reflection keeps every method: see newRootCommand
)

// cost is the processor time of the servers for one review, user and system. It has one value for each round, in
// microseconds.
type cost struct {
	*review
	micros map[string][]float64 // by the name of the server
}

// ratio returns the cost of a server as a multiple of the cost of another. It compares only values of the same round,
// because shared machines are faster in one minute than in the next.
func (c *cost) ratio(server, other string) float64 {
	quotients := make([]float64, len(c.micros[server]))
	for i := range quotients {
		quotients[i] = c.micros[server][i] / c.micros[other][i]
	}
	return median(quotients)
}

// microsOf returns the median of the rounds of a server.
func (c *cost) microsOf(server string) float64 { return median(c.micros[server]) }

// growth returns by how many percent a review with another policy costs more than with the example.
func (c *cost) growth(policy string) float64 { return 100 * (c.ratio(policy, "example") - 1) }

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// sittings is the number of times that the servers are started. Two processes of the same binary differ by two or three
// percent for as long as they run.
const sittings = 4

// measure sends the same reviews to servers in turn, in short rounds, which it divides among sittings.
func (r *rig) measure(ctx context.Context, reviews []*review, rounds int, servers ...string) ([]*cost, error) {
	var costs []*cost
	for _, review := range reviews {
		costs = append(costs, &cost{review, map[string][]float64{}})
	}
	for i := range sittings {
		if n := (rounds + i) / sittings; n > 0 {
			if err := r.sit(ctx, costs, n, servers); err != nil {
				return nil, err
			}
		}
	}
	return costs, nil
}

// sit starts the servers and adds the values of some rounds to all costs. It does not measure the first round, which
// opens the connections and warms up.
func (r *rig) sit(ctx context.Context, costs []*cost, rounds int, names []string) error {
	servers, stop, err := r.servers(ctx, names...)
	if err != nil {
		return err
	}
	defer stop()
	for _, c := range costs {
		var senders []*sender
		for _, name := range names {
			if name != "owned" || c.hosts {
				senders = append(senders, &sender{review: c.review, server: servers[name]})
			}
		}
		for i := range rounds + 1 {
			for j := range senders {
				s := senders[(i+j)%len(senders)] // a server does not always follow the same one
				micros, err := s.send(ctx, max(1, 2000/c.weight()))
				if err != nil {
					return err
				}
				if i > 0 {
					c.micros[s.server.name] = append(c.micros[s.server.name], micros)
				}
			}
		}
	}
	return nil
}

// measureCosts measures the reviews with all policies, and returns an error if a value exceeds its limit.
func (r *rig) measureCosts(ctx context.Context, o options) error {
	chosen := slices.DeleteFunc(reviews(), func(r *review) bool { return !strings.Contains(r.title(), o.only) })
	if len(chosen) == 0 || o.write && o.only != "" {
		return fmt.Errorf("no review has a name that contains %q, or -write is for all reviews", o.only)
	}
	costs, err := r.measure(ctx, chosen, o.rounds, "floor", "example", "many", "owned")
	if err != nil {
		return err
	}
	binary, err := os.Stat(r.path("evergate"))
	if err != nil {
		return err
	}
	text, failed := report(costs, binary.Size())
	if err := publish(o, "make bench", text); failed || err != nil {
		return errors.Join(err, errors.New("some values exceed their limits"))
	}
	return nil
}

// report returns the tables for the page, and whether a value exceeds its limit.
func report(costs []*cost, size int64) (text string, failed bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `make bench`.\n\n| | measured | at most | |\n| --- | --- | --- | --- |\n", machine())
	row := func(what, format string, got, most float64) {
		result := "pass"
		if got > most {
			result, failed = "**fail**", true
		}
		fmt.Fprintf(&b, "| %s | "+format+" | "+format+" | %s |\n", what, got, most, result)
	}
	for _, c := range costs {
		row(c.title(), "%.2f", c.ratio("example", "floor"), c.limit)
	}
	for _, c := range costs {
		what := fmt.Sprintf("%s, with %d mirrors and %d rules", c.name, manyMirrors, manyRules)
		row(what, "%+.0f %%", c.growth("many"), mostGrowth)
	}
	for _, c := range costs {
		if c.hosts {
			row(fmt.Sprintf("%s, with %d owned hosts", c.name, owners*hostsOfOwner), "%+.0f %%", c.growth("owned"), mostOwned)
		}
	}
	row("binary", "%.1f MiB", mebibytes(size), mostSize)
	b.WriteString("\nProcessor time of the server process for each review, in microseconds:\n\n" +
		"| review | floor | evergate | many entries |\n| --- | --- | --- | --- |\n")
	for _, c := range costs {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.0f |\n", c.title(), c.microsOf("floor"), c.microsOf("example"),
			c.microsOf("many"))
	}
	return b.String(), failed
}

// measurePeer measures the costs of Pods for the floor, for evergate, and for a webhook that uses controller-runtime
// (e2e/peer).
func (r *rig) measurePeer(ctx context.Context, o options) error {
	if err := r.build(ctx, "peer"); err != nil {
		return err
	}
	costs, err := r.measure(ctx, reviews()[:3], o.rounds, "floor", "example", "peer")
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `make bench-peer`. Processor time of the server process for each review, in microseconds.\n"+
		"The ratio to the floor is in parentheses:\n\n"+
		"| review | floor | evergate | controller-runtime |\n| --- | --- | --- | --- |\n", machine())
	for _, c := range costs {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f (%.2f) | %.0f (%.2f) |\n", c.title(), c.microsOf("floor"), c.microsOf("example"),
			c.ratio("example", "floor"), c.microsOf("peer"), c.ratio("peer", "floor"))
	}
	return publish(o, "make bench-peer", b.String())
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
