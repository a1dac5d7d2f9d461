// Package hostile contains peers that attack a webhook. They open thousands of connections, and send nothing, or send
// slowly, or send requests that no legitimate client sends. Their number is limited, and they wait for events and never
// for time, so tests with them end and have the same result every day.
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
	// dialers is the number of connections that are opened at the same time for each kind of peer. Two cores that are
	// shared with the server can open as many within a few milliseconds. With more dialers, the test itself would slow
	// down legitimate clients.
	dialers = 16
	// sources is the number of loopback addresses that the peers use. Ten thousand connections would use up the ports
	// of a single address.
	sources = 8
	// spareFiles is the number of files that a test has open in addition to its connections.
	spareFiles = 512
)

// Peers is a set of open connections to a server.
type Peers struct {
	conns []net.Conn
}

// Open opens n connections to addr and calls greet on each. If greet fails, the server has closed the connection. Such
// a connection remains in the set, because some tests expect it.
func Open(ctx context.Context, addr string, n int, greet func(net.Conn) error) (*Peers, error) {
	return open(ctx, n, greet, func(i int) (net.Conn, error) { return dial(ctx, addr, i) })
}

// OpenTLS is like Open, with a TLS handshake first. A failed handshake is not an error.
func OpenTLS(ctx context.Context, addr string, n int, greet func(net.Conn) error) (*Peers, error) {
	return OpenTLSWith(ctx, addr, n, Unverified(), greet)
}

// OpenTLSWith is like OpenTLS with a TLS configuration, for example with a client certificate.
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

// dial connects from one of several addresses. The kernel chooses the port.
func dial(ctx context.Context, addr string, i int) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%sources))}}
	return d.DialContext(ctx, "tcp", addr)
}

// Say writes text to every connection that is still open.
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

// together calls f for 0 to n-1, with at most atOnce concurrent calls.
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

// needFiles returns an error if the process may not open n files. The Go runtime has already raised the soft limit to
// the hard limit.
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
