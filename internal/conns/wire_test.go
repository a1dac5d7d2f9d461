package conns

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// endless is a connection that always has data to read.
type endless struct{ net.Conn }

func (endless) Read(p []byte) (int, error) { return len(p), nil }

var _ kernelBuffers = (*net.TCPConn)(nil) // otherwise buffers would not be limited

func TestWireIsBounded(t *testing.T) {
	w := newWire(endless{})
	readAll := func() (read int) {
		for range 100 {
			n, err := w.Read(make([]byte, 10_000))
			if read += n; err != nil {
				if !errors.Is(err, errUnseen) {
					t.Fatal(err)
				}
				return read
			}
		}
		t.Fatalf("%d bytes were read", read)
		return read
	}
	for range 2 {
		if n := readAll(); n != maxUnseen {
			t.Errorf("%d bytes were read, want %d", n, maxUnseen)
		}
		w.progress()
	}
	ctx, end := context.WithCancel(t.Context())
	w.handshake = ctx
	readAll()
	end()
	if n := readAll(); n != maxUnseen {
		t.Errorf("%d bytes were read after the handshake, want %d", n, maxUnseen)
	}
	if n := readAll(); n != 0 {
		t.Errorf("%d more bytes were read", n)
	}
}

// TLSConfig keeps the hook of the original config.
func TestConfigForClient(t *testing.T) {
	of := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errUnseen }}
	if _, err := TLSConfig(of).GetConfigForClient(&tls.ClientHelloInfo{}); !errors.Is(err, errUnseen) {
		t.Errorf("got %v", err)
	}
}

// Bytes of a body are progress, and the end of a body is not.
func TestBodyIsProgress(t *testing.T) {
	w := newWire(endless{})
	b := body{io.NopCloser(strings.NewReader("x")), new(Set), &Conn{wire: w}}
	for _, want := range []int64{maxUnseen, 1} {
		w.left.Store(1)
		if _, err := b.Read(make([]byte, 8)); w.left.Load() != want {
			t.Errorf("%v: %d bytes are left, want %d", err, w.left.Load(), want)
		}
	}
}
