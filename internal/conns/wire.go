package conns

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
// most MaxHeaderBytes and the 4 KiB that net/http adds, in records of up to 16 KiB.
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

// ReadBuffer and WriteBuffer bound what the kernel holds of each connection, for which it takes twice as much memory.
// The container's limit counts that too. Without a bound it grows to megabytes where a peer sends and is not read, or
// does not read. 64 KiB in flight are what a connection starts with, and 32 MiB a second between two zones.
const (
	ReadBuffer  = 64 << 10
	WriteBuffer = 16 << 10
)

// Buffered returns a listener that bounds what the kernel holds of its connections: read bytes of requests, and
// WriteBuffer of answers.
func Buffered(l net.Listener, read int) net.Listener { return buffered{l, read} }

type buffered struct {
	net.Listener
	read int
}

// Accept implements net.Listener.
func (l buffered) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if b, ok := c.(kernelBuffers); ok {
		_, _ = b.SetReadBuffer(l.read), b.SetWriteBuffer(WriteBuffer) // they fail when the connection is closed
	}
	return c, err
}

// kernelBuffers is a connection that the kernel holds bytes of: a net.TCPConn.
type kernelBuffers interface {
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// Wired returns a listener for TLS. It bounds what the kernel holds of its connections, and what TLS reads of them.
func Wired(l net.Listener) net.Listener { return wired{Buffered(l, ReadBuffer)} }

type wired struct{ net.Listener }

// Accept implements net.Listener.
func (l wired) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newWire(c), nil
}

// TLSConfig returns a copy of config for the connections of a Wired listener, which must know when a handshake is over.
func TLSConfig(config *tls.Config) *tls.Config {
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
