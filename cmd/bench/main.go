// Bench measures the cost of a review. It runs evergate as a separate process, in turn with a server that has the
// lowest possible cost of a webhook. The client behaves like kube-apiserver's and verifies every response.
//
//	make bench                                      the table, and its values in docs/performance.md
//	go run ./cmd/bench -rounds 3 -only 'small Pod'  one line, quickly
//	go run ./cmd/bench -reviews 1000000             memory over a million reviews
//	make bench-peer                                 the cost of Pods, next to a webhook with controller-runtime
//	make bench-plan                                 evergate plan over a dump of a million Pods
//	make worst                                      the costliest reviews and their limits
//
// It works only on Linux, because it reads processor time and memory from /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options contains the flags.
type options struct {
	rounds  int
	round   int64
	reviews int64
	only    string
	write   string
	worst   int
	part    int
	plan    int
	peer    bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 40, "number of rounds for each server")
	flag.Int64Var(&o.round, "round", 2000, "number of small reviews in a round; fewer for large reviews")
	flag.Int64Var(&o.reviews, "reviews", 100_000, "number of reviews over which memory must not grow")
	flag.StringVar(&o.only, "only", "", "measure only the costs of reviews whose name contains this `text`")
	flag.StringVar(&o.write, "write", "", "write the results to this `file`, between the lines that mark their place")
	flag.IntVar(&o.worst, "worst", 0, "measure only the costliest reviews: one of every `n` rows")
	flag.IntVar(&o.part, "part", 0, "with -worst n, which of the `n` parts of the rows, counted from 0")
	flag.IntVar(&o.plan, "plan", 0, "measure only evergate plan, over a dump of this number of `Pods`")
	flag.BoolVar(&o.peer, "peer", false, "measure only the costs of Pods, next to a webhook with controller-runtime")
	flag.Parse()
	if o.worst > 0 && (o.part < 0 || o.part >= o.worst) {
		fmt.Fprintf(os.Stderr, "bench: unknown part %d: use 0 to %d\n", o.part, o.worst-1)
		os.Exit(2)
	}
	if o.rounds < 1 || o.round < 1 || o.reviews < 10 {
		fmt.Fprintln(os.Stderr, "bench: -rounds and -round must be at least 1, and -reviews at least 10")
		os.Exit(2)
	}
	// A connection that the server has closed also causes this signal, and an output without a reader must not leave
	// servers behind.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		cancel()
		os.Exit(1) //nolint:gocritic // cancel has been called
	}
}

func run(ctx context.Context, o options) error {
	binaries := map[string]string{"floor": "./cmd/bench/floor", "evergate": "."}
	if o.plan > 0 {
		binaries = map[string]string{"evergate": "."}
	}
	if o.peer {
		binaries["peer"] = "./e2e/peer"
	}
	r, err := newRig(ctx, binaries)
	if err != nil {
		return err
	}
	defer r.remove()
	if o.plan > 0 {
		return r.measurePlan(ctx, os.Stdout, o.plan)
	}
	if o.peer {
		return r.measurePeer(ctx, os.Stdout, reviews()[:3], o)
	}
	if o.worst > 0 {
		return r.measureWorst(ctx, os.Stdout, o)
	}
	chosen := slices.DeleteFunc(reviews(), func(r *review) bool { return !strings.Contains(r.title(), o.only) })
	if len(chosen) == 0 {
		return fmt.Errorf("there is no review whose name contains %q", o.only)
	}
	if o.only != "" {
		_, err := r.measureCosts(ctx, os.Stdout, chosen, o.rounds, o.round)
		return err
	}
	return r.measure(ctx, o, chosen)
}

// measure measures everything and returns an error if a value exceeds its limit.
func (r *rig) measure(ctx context.Context, o options, reviews []*review) (err error) {
	const few = 15 // for values that vary less between rounds than costs, or take longer
	out := os.Stdout
	fmt.Fprintln(out, machine())
	fmt.Fprintln(out, "\ncosts:")
	var rep results
	if rep.costs, err = r.measureCosts(ctx, out, reviews, o.rounds, o.round); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nlatency, start and size:")
	if rep.latency, err = r.measureLatency(ctx, out, reviews[1], few, time.Second); err != nil {
		fmt.Fprintln(out, "  p99 could not be measured because the machine is too busy:", err)
	}
	if rep.startTook, err = r.measureStart(ctx, out, few); err != nil {
		return err
	}
	if rep.size, err = r.size(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nresident memory:")
	if rep.memory, err = r.measureMemory(ctx, out, reviews, 3*time.Second, o.reviews); err != nil {
		return err
	}
	fmt.Fprintln(out)
	failed := false
	for _, row := range rep.rows() {
		result := "pass"
		if !row.pass {
			result, failed = "FAIL", true
		}
		fmt.Fprintf(out, "%s  %-60s %10s  at most %s\n", result, row.what, row.got, row.limit)
	}
	if o.write != "" {
		err = rep.write(o.write)
	}
	if failed {
		err = errors.Join(err, errors.New("some values exceed their limits"))
	}
	return err
}
