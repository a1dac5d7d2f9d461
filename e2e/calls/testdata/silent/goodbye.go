package lifecycle

import "github.com/evergate/evergate/internal/conns"

// shouldClose never asks the client to close: the negative control of the roll-over test is built with it.
func (p *Process) shouldClose(*conns.Conn) bool { return false }
