package client

import (
	"net"
	"sync"
)

// lateConn is a connection that delays its end for the reader. Read returns an error only after data was written since
// the last successful Read, or after Close.
type lateConn struct {
	net.Conn

	mu     sync.Mutex
	wrote  chan struct{} // closed by the next Write, and replaced by a successful Read
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
	c.mu.Lock() // a Read of the response waits, and replaces wrote only after this Write has closed it
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
