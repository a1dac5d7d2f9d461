package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// measurePeer measures the costs of Pods for the floor, for evergate, and for a webhook that uses controller-runtime
// (e2e/peer). A test in e2e/calls checks the responses of this webhook.
func (r *rig) measurePeer(ctx context.Context, w io.Writer, pods []*review, o options) error {
	costs, err := r.sitAll(ctx, pods, o.rounds, o.round, "floor", "example", "peer")
	if err != nil {
		return err
	}
	text := peerTable(costs)
	fmt.Fprint(w, text)
	if o.write == "" {
		return nil
	}
	return insert(o.write, beginPeer, endPeer, text)
}

// peerTable returns the table for docs/performance.md.
func peerTable(costs []*cost) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `make bench-peer`. Processor time of the server process for each review, in microseconds.\n"+
		"The ratio to the floor is in parentheses:\n\n"+
		"| review | floor | evergate | controller-runtime |\n| --- | --- | --- | --- |\n", machine())
	for _, c := range costs {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f (%.2f) | %.0f (%.2f) |\n", c.review.title(), median(c.floor), median(c.example),
			c.ratio(), median(c.many), median(quotients(c.many, c.floor)))
	}
	return b.String()
}
