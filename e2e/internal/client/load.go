package client

import (
	"context"
	"fmt"

	"github.com/evergate/evergate/e2e/internal/load"
)

// Load is a number of workers that use one client and call as fast as they can until Stop.
type Load struct {
	*load.Load
	client *Client
}

// Start starts n workers that make one call after another. call makes the i-th call of the load, and returns an error
// if it failed.
func Start(ctx context.Context, c *Client, n int, call func(ctx context.Context, i int64) error) *Load {
	return &Load{load.Start(ctx, n, call), c}
}

// Stop waits for the calls under way and returns the report.
func (l *Load) Stop() Report {
	return Report{
		Books:   l.Load.Stop(),
		Dials:   l.client.dials.Load(),
		Retries: l.client.roundTrips.Load() - l.client.calls.Load(),
	}
}

// Report contains the results of a load.
type Report struct {
	load.Books
	Retries int64 // responses of 429 or 5xx with Retry-After that the API server's client retried
	Dials   int64 // opened connections
}

// String returns the books together with the counts of this client.
func (r Report) String() string {
	return fmt.Sprintf("%v\nretries %d, connections %d", r.Books, r.Retries, r.Dials)
}
