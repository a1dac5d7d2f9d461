// Package hostile holds the peers that a webhook meets besides kube-apiserver: peers that open connections by the
// thousand and say nothing, or say it slowly, or say what no honest client would. What they do is bounded in number and
// waits for events, never for time, so that a test of it ends and says the same each day.
package hostile

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

const (
	// dialers is how many connections are opened at one time for each kind of peer: as many as two cores that are
	// shared with the server have open within some milliseconds. With more of them it would be the test that has no
	// time for honest clients.
	dialers = 16
	// sources is how many addresses of loopback the peers call from, so that ten thousand connections do not use up the
	// ports of one.
	sources = 8
	// spareFiles is what a test has open beside its connections.
	spareFiles = 512
)

// Peers are connections that are held open against one server.
type Peers struct {
	conns []net.Conn
}

// Open opens n connections to addr and says a greeting on each. Where the greeting fails, the server has refused
// the peer; such a connection stays among the others, since that is what some of them are there for.
func Open(ctx context.Context, addr string, n int, greet func(net.Conn) error) (*Peers, error) {
	return open(ctx, n, greet, func(i int) (net.Conn, error) { return dial(ctx, addr, i) })
}

// OpenTLS is Open with a TLS handshake first. One that fails counts as refused.
func OpenTLS(ctx context.Context, addr string, n int, greet func(net.Conn) error) (*Peers, error) {
	return OpenTLSWith(ctx, addr, n, Unverified(), greet)
}

// OpenTLSWith is OpenTLS with a configuration, such as one with a client certificate.
func OpenTLSWith(ctx context.Context, addr string, n int, config *tls.Config,
	greet func(net.Conn) error) (*Peers, error) {
	return open(ctx, n, greet, func(i int) (net.Conn, error) {
		conn, err := dial(ctx, addr, i)
		if err != nil {
			return nil, err
		}
		return tls.Client(conn, config), nil
	})
}

func open(ctx context.Context, n int, greet func(net.Conn) error, dial func(i int) (net.Conn, error)) (*Peers, error) {
	if err := needFiles(n + spareFiles); err != nil {
		return nil, err
	}
	p := &Peers{conns: make([]net.Conn, n)}
	var failed atomic.Pointer[error]
	together(n, dialers, func(i int) {
		conn, err := dial(i)
		if err != nil {
			failed.Store(&err)
			return
		}
		p.conns[i] = conn
		context.AfterFunc(ctx, func() { _ = conn.Close() }) // unblocks a greeting that the server does not read
		if t, ok := conn.(*tls.Conn); ok && t.HandshakeContext(ctx) != nil {
			return
		}
		_ = greet(conn)
	})
	if err := failed.Load(); err != nil {
		p.Close()
		return nil, fmt.Errorf("open %d connections: %w", n, *err)
	}
	return p, nil
}

// dial calls from one of several addresses. The kernel finds the port.
func dial(ctx context.Context, addr string, i int) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%sources))}}
	return d.DialContext(ctx, "tcp", addr)
}

// Say writes the same on every connection. Refused ones do not get it.
func (p *Peers) Say(text string) {
	together(len(p.conns), dialers, func(i int) { _, _ = io.WriteString(p.conns[i], text) })
}

// Close closes all connections.
func (p *Peers) Close() {
	together(len(p.conns), dialers, func(i int) {
		if p.conns[i] != nil {
			_ = p.conns[i].Close()
		}
	})
}

// together calls f for 0 to n-1, some at one time.
func together(n, atOnce int, f func(i int)) {
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(n, atOnce) {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	done.Wait()
}

// needFiles returns an error if the process may not open n files. The Go runtime has raised the soft limit to the hard
// one already.
func needFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Cur < uint64(n) {
		return fmt.Errorf("%d open files are needed and %d allowed: raise the hard limit (ulimit -Hn)", n, limit.Cur)
	}
	return nil
}
