package conns

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
)

// maxUnseen is how many bytes TLS may read from a connection without progress. Progress is the end of the handshake,
// the header of a request, or part of its body. crypto/tls keeps the bytes of a handshake message, up to 256 KiB and
// also after the handshake, and keeps the parsed message for as long as the connection lasts. The limit must therefore
// apply before TLS reads. The first flight of a legitimate client has 2 KiB, or 12 KiB with six certificates of 4,096
// bits. The header of a request has at most MaxHeaderBytes and the 4 KiB that net/http adds, in records of up to 16
// KiB.
const maxUnseen = 16<<10 + maxRecord

// maxRecord is the length of the longest TLS record: its header, 16 KiB of text, and the 2 KiB that encryption may add
// in TLS 1.2.
const maxRecord = 5 + 16<<10 + 2<<10

var errUnseen = errors.New("the peer has sent too much without sending a request")

// wire is a connection below TLS that applies maxUnseen. Read must be called by one goroutine at a time.
type wire struct {
	net.Conn
	left      atomic.Int64    // bytes that may be read until there is progress
	handshake context.Context // done when the handshake ends; nil before the ClientHello, and after the handshake
}

func newWire(c net.Conn) *wire {
	w := &wire{Conn: c}
	w.progress()
	return w
}

// progress records that the bytes were useful, and allows maxUnseen more bytes. Without TLS, w is nil.
func (w *wire) progress() {
	if w != nil {
		w.left.Store(maxUnseen)
	}
}

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

// ReadBuffer and WriteBuffer limit the bytes that the kernel buffers for each connection. They take twice as much
// memory, which counts towards the container's limit. Without these limits, a buffer grows to megabytes if the process
// does not read, or if the peer does not read. 64 KiB is the size that a connection starts with, and enough for 32 MiB
// a second between two zones.
const (
	ReadBuffer  = 64 << 10
	WriteBuffer = 16 << 10
)

// Buffered returns a listener that limits the bytes that the kernel buffers for its connections: read bytes of
// requests, and WriteBuffer bytes of responses.
func Buffered(l net.Listener, read int) net.Listener { return buffered{l, read} }

type buffered struct {
	net.Listener
	read int
}

// Accept implements net.Listener.
func (l buffered) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if b, ok := c.(kernelBuffers); ok {
		_, _ = b.SetReadBuffer(l.read), b.SetWriteBuffer(WriteBuffer) // they fail if the connection is closed
	}
	return c, err
}

// kernelBuffers is a connection with buffers in the kernel, such as a net.TCPConn.
type kernelBuffers interface {
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// Wired returns a listener for TLS. It limits the bytes that the kernel buffers for its connections, and the bytes that
// TLS reads from them.
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

// TLSConfig returns a copy of config for the connections of a Wired listener. The copy reports the end of each
// handshake to them.
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
		return nil, nil // use the config unchanged
	}
	return config
}

// wireOf returns the wire below a connection, or nil if c is not a TLS connection over a wire.
func wireOf(c net.Conn) *wire {
	t, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	w, _ := t.NetConn().(*wire)
	return w
}
