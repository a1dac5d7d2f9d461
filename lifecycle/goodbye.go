package lifecycle

import (
	"time"

	"github.com/evergate/evergate/internal/conns"
)

// shouldClose reports whether the response that begins now should be the last one on its connection.
//
// It is in a separate file because the control run of the rollover test replaces it with
// e2e/calls/testdata/silent/goodbye.go, through go build -overlay.
func (p *Process) shouldClose(c *conns.Conn) bool {
	return p.phase() != ready || c.Old(time.Now())
}
