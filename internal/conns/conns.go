// Package conns bounds the connections of an http.Server: how many are open, how long each lives, how much each may
// send without a request in it, and how much the kernel holds of it.
//
//	conns.go    the open connections of a server, and which is evicted when there are too many
//	arrival.go  when a request has arrived whole
//	wire.go     the bound on what TLS reads
//	writer.go   the answer to a request, and whether it is the last one on its connection
//
// A server is bounded by Attach before it serves, and by the listener that Wired returns.
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

// Set is the open connections of one server. It counts them, knows the age of each, and evicts one when there are too
// many. The server's ConnContext and ConnState hooks report connections, its handler requests that have arrived.
//
// With Max connections open, each new one evicts an old one, so that honest clients, and kubelet's probes, are served
// while a hostile peer holds thousands of connections. The eviction candidates, in this order:
//
//  1. The connection that has awaited a request longest. An honest client sends a request, with its body, within
//     milliseconds of dialling; a hostile peer never does.
//  2. The connection that has been idle longest. Clients reuse the one that they used last, so this one is the least
//     likely to be chosen.
//  3. The connection whose answer has been under way longest. An honest client's answer is bounded in time, and its
//     client is about to give up; the answer to a peer that does not read lasts as long as it can.
//
// Connections awaiting a request are evicted first only while they are at least a third of all. Otherwise the
// longest-idle one goes, so that a flood of idle peers cannot evict handshakes.
type Set struct {
	MaxAge  time.Duration // of a connection, ±10 %; 0: none is ever old
	Max     int           // open at one time; 0: no bound
	Evicted func()        // called for each connection that was evicted; nil: none

	mu      sync.Mutex
	open    map[net.Conn]*Conn
	awaited queue         // awaiting a request, or the rest of one; longest first
	idle    queue         // between requests, longest first
	active  queue         // being answered, longest first
	none    chan struct{} // closed when no connection is open any more; nil while no goroutine waits
}

// Conn is an open connection.
type Conn struct {
	net.Conn
	wire     *wire              // below TLS; nil without
	cancel   context.CancelFunc // ends the context of its requests
	retireAt time.Time          // zero: never

	in           *queue // nil when it is not open any more
	before, next *Conn
}

// Old reports whether the connection has reached its age, so that its next answer should be its last. A nil Conn, of a
// request that came in without one, is never old.
func (c *Conn) Old(now time.Time) bool {
	return c != nil && !c.retireAt.IsZero() && now.After(c.retireAt)
}

// queue is a list of connections. It is no container/list, which would allocate for each move, three times a request.
type queue struct {
	first, last *Conn
	n           int
}

// move puts the connection at the end of a queue. A nil queue only removes it from the one that it is in.
func (c *Conn) move(to *queue) {
	if from := c.in; from != nil {
		from.remove(c)
	}
	if c.in = to; to != nil {
		to.add(c)
	}
}

func (q *queue) add(c *Conn) {
	q.n++
	c.before = q.last
	if q.last = c; c.before != nil {
		c.before.next = c
	} else {
		q.first = c
	}
}

func (q *queue) remove(c *Conn) {
	q.n--
	if c.before != nil {
		c.before.next = c.next
	} else {
		q.first = c.next
	}
	if c.next != nil {
		c.next.before = c.before
	} else {
		q.last = c.before
	}
	c.before, c.next = nil, nil // a reference to c must not keep the others in memory
}

// close closes the TCP connection without a TLS alert, for which a tls.Conn would wait for a peer that does not read.
// It also cancels the request on the connection: net/http does not notice that the peer is gone when a second request
// has come already, and the first one would stay in the queue for nothing.
func (c *Conn) close() {
	c.cancel()
	conn := c.Conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close()
}

// progress records that what the peer sent was of use.
func (c *Conn) progress() {
	if c != nil && c.wire != nil {
		c.wire.progress()
	}
}

type connKey struct{}

// Of returns the connection that a request came in on; nil if none was accepted for it.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// accept adds a new connection. It is the server's ConnContext, which net/http calls before any other hook.
func (cs *Set) accept(ctx context.Context, conn net.Conn) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	c := &Conn{Conn: conn, wire: wireOf(conn), cancel: cancel}
	if cs.MaxAge > 0 {
		// The jitter keeps connections that were opened together, as after a roll-out, from being retired together.
		c.retireAt = time.Now().Add(time.Duration(float64(cs.MaxAge) * (0.9 + 0.2*rand.Float64())))
	}
	if candidate := cs.add(c); candidate != nil {
		candidate.close()
		if cs.Evicted != nil {
			cs.Evicted()
		}
		runtime.Gosched() // serve the accepted connections before more are accepted: their requests may be there already
	}
	return context.WithValue(ctx, connKey{}, c)
}

// add counts a connection and returns the one to evict for it, which it no longer counts; nil if there is room.
func (cs *Set) add(c *Conn) (evict *Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.Max > 0 && len(cs.open) >= cs.Max {
		evict = cs.evictionCandidate()
		defer cs.remove(evict) // last, so that a drain never sees a moment without connections
	}
	if cs.open == nil {
		cs.open = make(map[net.Conn]*Conn)
	}
	cs.open[c.Conn] = c
	c.move(&cs.awaited)
	return evict
}

// evictionCandidate returns the connection to evict first. There must be one.
func (cs *Set) evictionCandidate() *Conn {
	switch {
	case 3*cs.awaited.n >= len(cs.open):
		return cs.awaited.first
	case cs.idle.n > 0:
		return cs.idle.first
	}
	return cs.active.first
}

// changed follows a connection through its states. It is the server's ConnState.
func (cs *Set) changed(conn net.Conn, state http.ConnState) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.open[conn]
	if c == nil {
		return // evicted already
	}
	c.progress()
	switch state {
	case http.StateActive: // the header of a request is there, its body may follow
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
	if c.in == &cs.awaited { // it may have been evicted meanwhile
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

// Count returns how many connections are open.
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
