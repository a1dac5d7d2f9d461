package lifecycle

import "time"

// lastOn says whether the answer that begins now should be the last one on its connection.
func (p *Process) lastOn(c *connection) bool {
	return p.phase() != ready || c != nil && c.old(time.Now())
}
