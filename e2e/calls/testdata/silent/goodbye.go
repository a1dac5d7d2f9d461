package lifecycle

// shouldClose never asks the client to close: the negative control of the roll-over test is built with it.
func (p *Process) shouldClose(*connection) bool { return false }
