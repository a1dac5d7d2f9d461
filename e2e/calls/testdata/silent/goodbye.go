package lifecycle

import "github.com/evergate/evergate/internal/conns"

// shouldClose never makes the client close its connection. The control run of the rollover test uses it.
func (p *Process) shouldClose(*conns.Conn) bool { return false }
