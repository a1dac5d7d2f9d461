package lifecycle

import (
	"time"

	"github.com/evergate/evergate/internal/conns"
)

// shouldClose reports whether the answer that begins now should be the last one on its connection.
//
// This file holds nothing else: e2e/calls/testdata/silent/goodbye.go replaces it, by go build -overlay, in the negative
// control of the roll-over test.
func (p *Process) shouldClose(c *conns.Conn) bool {
	return p.phase() != ready || c.Old(time.Now())
}
