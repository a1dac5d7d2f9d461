package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

// maxUnseen bounds how many bytes TLS may read from a connection without progress: the end of the handshake, the header
// of a request, some of its body. crypto/tls keeps what it reads of a handshake message, up to 256 KiB and also after
// the handshake, and what it has parsed for as long as the connection lasts, so that a bound must come before it. The
// first flight of an honest client has 2 KiB, with six certificates of 4,096 bits 12. The header of a request has at
// most maxHeaderBytes and the 4 KiB that net/http adds, in records of up to 16 KiB.
const maxUnseen = 16<<10 + maxRecord

// maxRecord is the longest record of TLS: its header, 16 KiB of text, and the 2 KiB that encryption may add in TLS 1.2.
const maxRecord = 5 + 16<<10 + 2<<10

var errUnseen = errors.New("the peer has sent too much without a request in it")

// wire is a connection below TLS that holds its peer to maxUnseen. Read is called by one goroutine at a time.
type wire struct {
	net.Conn
	left      atomic.Int64    // bytes that may be read until there is progress
	handshake context.Context // done when the handshake is over; nil before the client's hello, and afterwards
}

func newWire(c net.Conn) *wire {
	w := &wire{Conn: c}
	w.progress()
	return w
}

// progress records that what was read was of use, and allows maxUnseen bytes more.
func (w *wire) progress() { w.left.Store(maxUnseen) }

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	if w.handshake != nil && w.handshake.Err() != nil {
		w.handshake = nil
		w.progress()
	}
	left := w.left.Load()
	if left <= 0 {
		return 0, errUnseen
	}
	n, err := w.Conn.Read(p[:min(int64(len(p)), left)])
	w.left.Add(-int64(n))
	return n, err
}

// readBuffer and writeBuffer bound what the kernel holds of each connection, for which it takes twice as much memory.
// The container's limit counts that too. Without a bound it grows to megabytes where a peer sends and is not read, or
// does not read. 64 KiB in flight are what a connection starts with, and 32 MiB a second between two zones.
const (
	readBuffer  = 64 << 10
	writeBuffer = 16 << 10
)

// limitBuffers bounds what the kernel holds of a connection.
func limitBuffers(c net.Conn, read, write int) {
	if b, ok := c.(buffered); ok {
		_, _ = b.SetReadBuffer(read), b.SetWriteBuffer(write) // they fail when the connection is closed
	}
}

// buffered is a connection that the kernel holds bytes of: a net.TCPConn.
type buffered interface {
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// wires is a listener whose connections are wires.
type wires struct{ net.Listener }

// Accept implements net.Listener.
func (l wires) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	limitBuffers(c, readBuffer, writeBuffer)
	return newWire(c), nil
}

// onWires returns a copy of config that sets the handshake of each wire.
func onWires(config *tls.Config) *tls.Config {
	config = config.Clone()
	next := config.GetConfigForClient
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if w, ok := hello.Conn.(*wire); ok {
			w.handshake = hello.Context()
		}
		if next != nil {
			return next(hello)
		}
		return nil, nil // the config as it is
	}
	return config
}

// wireOf returns the wire below a connection; nil if there is none.
func wireOf(c net.Conn) *wire {
	t, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	w, _ := t.NetConn().(*wire)
	return w
}
