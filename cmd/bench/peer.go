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
	costs := make([]*cost, len(pods)) // the peer's values are in many
	for i, pod := range pods {
		costs[i] = &cost{review: pod}
	}
	for i := range sittings {
		if err := r.sitWithPeer(ctx, costs, (o.rounds+i)/sittings, o.round); err != nil {
			return err
		}
	}
	text := peerTable(costs)
	fmt.Fprint(w, text)
	if o.write == "" {
		return nil
	}
	return insert(o.write, beginPeer, endPeer, text)
}

// sitWithPeer starts the servers and adds the values of some rounds to all costs.
func (r *rig) sitWithPeer(ctx context.Context, costs []*cost, rounds int, round int64) error {
	if rounds == 0 {
		return nil
	}
	floor, err := r.floor(ctx)
	if err != nil {
		return err
	}
	defer floor.stop()
	example, err := r.evergate(ctx, "evergate", "example")
	if err != nil {
		return err
	}
	defer example.stop()
	peer, err := r.peer(ctx)
	if err != nil {
		return err
	}
	defer peer.stop()
	client := r.client()
	for _, c := range costs {
		err := takeTurns(ctx, []turn{
			{newSender(c.review, floor, client), floor, &c.floor},
			{newSender(c.review, example, client), example, &c.example},
			{newSender(c.review, peer, client), peer, &c.many},
		}, rounds, max(1, round/c.review.weight()))
		if err != nil {
			return fmt.Errorf("%s: %w", c.review.name, err)
		}
	}
	return nil
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
