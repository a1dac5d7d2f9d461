// Bench measures the cost of a review. It runs evergate as a separate process, in turn with a server that has the
// lowest possible cost of a webhook. The client behaves like kube-apiserver's and verifies every response. Run it in
// tools/bench:
//
//	go run . -write cost                          the table, and its values in docs/performance.md (make bench)
//	go run . -rounds 3 -only 'small Pod' cost     one line, quickly
//	go run . -write peer                          the cost of Pods, next to a webhook with controller-runtime
//	go test -run '^$' -bench Plan -benchtime 1x   evergate plan over a dump of Pods (make bench-plan)
//	go run . -rows 10 worst                       the costliest reviews and their limits
//	go test -C ../.. -run '^$' -bench Decode -benchmem ./review | go run . allocs
//
// It works only on Linux, because it reads processor time from /proc.
package main

import (
	"context"
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// options contains the flags.
type options struct {
	rounds, rows, part int
	only               string
	write              bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 40, "number of rounds for each server, for cost and peer")
	flag.StringVar(&o.only, "only", "", "measure only reviews whose name contains this `text`, for cost and worst")
	flag.BoolVar(&o.write, "write", false, "write the results of cost or peer to "+page)
	flag.IntVar(&o.rows, "rows", 1, "measure one of every `n` of the costliest reviews")
	flag.IntVar(&o.part, "part", 0, "with -rows n, which of the `n` parts, counted from 0")
	flag.Parse()
	// A connection that the server has closed also causes this signal, and an output without a reader must not leave
	// servers behind.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, flag.Arg(0))
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, command string) error {
	if command == "allocs" {
		return compareAllocations("baseline.txt", os.Stdin, os.Stdout)
	}
	if o.rounds < 1 || o.part < 0 || o.part >= o.rows {
		return fmt.Errorf("-rounds and -rows must be at least 1, and -part from 0 to %d", o.rows-1)
	}
	commands := map[string]func(*rig, context.Context, options) error{
		"cost": (*rig).measureCosts, "peer": (*rig).measurePeer, "worst": (*rig).measureWorst,
	}
	measure, ok := commands[command]
	if !ok {
		return fmt.Errorf("unknown command %q: use cost, peer, worst or allocs", command)
	}
	dir, err := os.MkdirTemp("", "evergate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &rig{dir, x509.NewCertPool()}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	fmt.Println(machine())
	return measure(r, ctx, o)
}

// page is the page with the results. They are between two lines for each command.
const page = "../../docs/performance.md"

// publish prints a result, and inserts it into the page between the lines for a make target.
func publish(o options, target, result string) error {
	fmt.Print("\n" + result)
	if !o.write {
		return nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := "<!-- written by "+target+" -->\n", "<!-- end of "+target+" -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s does not have the lines %q and %q", page, begin, end)
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+result+"\n"+end+after), 0o644)
}
