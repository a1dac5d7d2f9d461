package client

import (
	"net"
	"sync"
)

// lateConn is a connection whose reader learns of its end only after something was written since the last read that
// succeeded, or when its own side closes it.
type lateConn struct {
	net.Conn

	mu     sync.Mutex
	wrote  chan struct{} // closed by the next Write, and renewed by a Read that succeeds
	closed chan struct{}
	once   sync.Once
}

func newLateConn(conn net.Conn) *lateConn {
	return &lateConn{Conn: conn, wrote: make(chan struct{}), closed: make(chan struct{})}
}

func (c *lateConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	if err == nil {
		c.wrote = make(chan struct{})
	}
	wrote := c.wrote
	c.mu.Unlock()
	if err != nil {
		select {
		case <-wrote:
		case <-c.closed:
		}
	}
	return n, err
}

func (c *lateConn) Write(p []byte) (int, error) {
	c.mu.Lock() // a Read of the answer waits, and renews wrote only after this Write has closed it
	defer c.mu.Unlock()
	n, err := c.Conn.Write(p)
	select {
	case <-c.wrote:
	default:
		close(c.wrote)
	}
	return n, err
}

func (c *lateConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
