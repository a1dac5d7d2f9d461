// Package conns limits the connections of an http.Server: how many are open, how long each lives, how much each may
// send without a request, and how much the kernel buffers for it.
//
//	conns.go    the open connections of a server, and which is evicted if there are too many
//	arrival.go  the point at which a whole request has arrived
//	wire.go     the limit on the bytes that TLS reads
//	writer.go   the response to a request, and whether it is the last one on its connection
//
// To limit a server, call Attach before it serves, and serve on the listener that Wired returns.
package conns

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// Set contains the open connections of one server. It counts them, tracks the age of each, and evicts one if there are
// too many. The server's ConnContext and ConnState hooks report connections to it, and its handler reports requests
// that have arrived.
//
// If Max connections are open, each new connection evicts an old one. In this way, legitimate clients and the kubelet's
// probes are served while a hostile peer holds thousands of connections. The eviction candidates are, in this order:
//
//  1. The connection that has waited longest for a request. A legitimate client sends a request, with its body, within
//     milliseconds of dialing. A hostile peer never does.
//  2. The connection that has been idle longest. Clients reuse the connection that they used last, so they are least
//     likely to choose this one.
//  3. The connection whose response has been under way longest. For a legitimate client, the response is limited in
//     time, and the client is about to give up. The response to a peer that does not read lasts as long as it can.
//
// Connections that wait for a request are evicted first only while they are at least a third of all connections.
// Otherwise, the connection that has been idle longest is evicted, so a flood of idle peers cannot evict handshakes.
type Set struct {
	MaxAge  time.Duration // maximum age of a connection, ±10 %; 0: unlimited
	Max     int           // open at one time; 0: unlimited
	Evicted func()        // called for each evicted connection; may be nil

	mu      sync.Mutex
	open    map[net.Conn]*Conn
	awaited queue         // waiting for a request or the rest of one; longest first
	idle    queue         // between requests; longest first
	active  queue         // being answered; longest first
	none    chan struct{} // closed when the last connection closes; nil while no goroutine waits
}

// Conn is an open connection.
type Conn struct {
	net.Conn
	wire     *wire              // the connection below TLS; nil without TLS
	cancel   context.CancelFunc // ends the context of its requests
	retireAt time.Time          // zero: never

	in           *queue // nil if the connection is closed
	before, next *Conn
}

// Old reports whether the connection has reached its maximum age, in which case its next response should be its last. A
// nil Conn, for a request that did not arrive on a connection of a Set, is never old.
func (c *Conn) Old(now time.Time) bool {
	return c != nil && !c.retireAt.IsZero() && now.After(c.retireAt)
}

// queue is a ring of connections around root, so root.next is the first. It does not use container/list, which would
// allocate for each move, three times a request.
type queue struct {
	root Conn
	n    int
}

func (q *queue) init() { q.root.before, q.root.next = &q.root, &q.root }

// move puts the connection at the end of a queue. If the queue is nil, move only removes the connection from its
// current queue.
func (c *Conn) move(to *queue) {
	if from := c.in; from != nil {
		from.n--
		c.before.next, c.next.before = c.next, c.before
		c.before, c.next = nil, nil // a reference to c must not keep the others in memory
	}
	if c.in = to; to != nil {
		to.n++
		c.before, c.next = to.root.before, &to.root
		c.before.next, c.next.before = c, c
	}
}

// close closes the TCP connection without a TLS alert, because a tls.Conn would wait for a peer that does not read the
// alert. It also cancels the request on the connection. If a second request has already arrived, net/http does not
// notice that the peer has disconnected, and the first request would stay in the queue for nothing.
func (c *Conn) close() {
	c.cancel()
	conn := c.Conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close()
}

type connKey struct{}

// Of returns the connection that a request arrived on, or nil if the request did not arrive on a connection of a Set.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// accept adds a new connection. It is the server's ConnContext, which net/http calls before any other hook.
func (cs *Set) accept(ctx context.Context, conn net.Conn) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	c := &Conn{Conn: conn, wire: wireOf(conn), cancel: cancel}
	if cs.MaxAge > 0 {
		// The jitter prevents connections that were opened together, for example after a rollout, from being retired
		// together.
		c.retireAt = time.Now().Add(time.Duration(float64(cs.MaxAge) * (0.9 + 0.2*rand.Float64())))
	}
	if candidate := cs.add(c); candidate != nil {
		candidate.close()
		if cs.Evicted != nil {
			cs.Evicted()
		}
		runtime.Gosched() // serve the accepted connections before accepting more, because their requests may already be there
	}
	return context.WithValue(ctx, connKey{}, c)
}

// add adds a connection. If there are too many, it removes the connection to evict and returns it, and otherwise it
// returns nil.
func (cs *Set) add(c *Conn) (evict *Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.Max > 0 && len(cs.open) >= cs.Max {
		evict = cs.evictionCandidate()
		defer cs.remove(evict) // last, so a drain never observes a moment without connections
	}
	if cs.open == nil {
		cs.open = make(map[net.Conn]*Conn)
		cs.awaited.init()
		cs.idle.init()
		cs.active.init()
	}
	cs.open[c.Conn] = c
	c.move(&cs.awaited)
	return evict
}

// evictionCandidate returns the connection to evict first. At least one connection must be open.
func (cs *Set) evictionCandidate() *Conn {
	switch {
	case 3*cs.awaited.n >= len(cs.open):
		return cs.awaited.root.next
	case cs.idle.n > 0:
		return cs.idle.root.next
	}
	return cs.active.root.next
}

// changed tracks the state of a connection. It is the server's ConnState.
func (cs *Set) changed(conn net.Conn, state http.ConnState) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.open[conn]
	if c == nil {
		return // already evicted
	}
	c.wire.progress()
	switch state {
	case http.StateActive: // the header of a request has arrived, and its body may follow
		if c.in == &cs.idle {
			c.move(&cs.awaited)
		}
	case http.StateIdle:
		c.move(&cs.idle)
	case http.StateClosed, http.StateHijacked:
		c.cancel()
		cs.remove(c)
	}
}

// arrived records that a whole request has arrived.
func (cs *Set) arrived(c *Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.in == &cs.awaited { // it may have been evicted in the meantime
		c.move(&cs.active)
	}
}

func (cs *Set) remove(c *Conn) {
	c.move(nil)
	delete(cs.open, c.Conn)
	if len(cs.open) == 0 && cs.none != nil {
		close(cs.none)
		cs.none = nil
	}
}

// Count returns the number of open connections.
func (cs *Set) Count() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.open)
}

// WaitNone returns when no connection is open, or when ctx is done.
func (cs *Set) WaitNone(ctx context.Context) {
	cs.mu.Lock()
	if len(cs.open) == 0 {
		cs.mu.Unlock()
		return
	}
	if cs.none == nil {
		cs.none = make(chan struct{})
	}
	none := cs.none
	cs.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}
