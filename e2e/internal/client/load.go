package client

import (
	"context"
	"fmt"

	"github.com/evergate/evergate/e2e/internal/load"
)

// Load is a number of workers that call by one client as fast as they can until Stop.
type Load struct {
	*load.Load
	client *Client
}

// Start lets n workers make call after call. call makes the i-th call of the load; its error is a failed call.
func Start(ctx context.Context, c *Client, n int, call func(ctx context.Context, i int64) error) *Load {
	return &Load{load.Start(ctx, n, call), c}
}

// Stop waits for the calls under way and returns the books.
func (l *Load) Stop() Report {
	return Report{
		Books:   l.Load.Stop(),
		Dials:   l.client.dials.Load(),
		Retries: l.client.roundTrips.Load() - l.client.calls.Load(),
	}
}

// Report says what became of the calls of a load.
type Report struct {
	load.Books
	Retries int64 // answers of 429 or 5xx with Retry-After that the API server's client retried
	Dials   int64 // connections made
}

// String adds what only this client counts.
func (r Report) String() string {
	return fmt.Sprintf("%v\nretries %d, connections %d", r.Books, r.Retries, r.Dials)
}
