package lifecycle

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

// connections counts the open connections of one server, knows the age of each, and evicts one when there are too many.
// The ConnContext and ConnState hooks of the http.Server tell it of connections, its handler of requests that have
// arrived.
//
// With max connections open, each new one evicts an old one, so that honest clients, and kubelet's probes, are served
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
type connections struct {
	maxAge  time.Duration // 0: none is ever old
	max     int           // 0: no bound
	evicted func()        // called for each connection that was evicted

	mu      sync.Mutex
	open    map[net.Conn]*connection
	awaited queue         // awaiting a request, or the rest of one; longest first
	idle    queue         // between requests, longest first
	active  queue         // being answered, longest first
	none    chan struct{} // closed when no connection is open any more; nil while no goroutine waits
}

// connection is an open connection.
type connection struct {
	net.Conn
	wire     *wire              // below TLS; nil without
	cancel   context.CancelFunc // ends the context of its requests
	retireAt time.Time          // zero: never

	in           *queue // nil when it is not open any more
	before, next *connection
}

// old reports whether the connection has reached its age, so that its next answer should be its last.
func (c *connection) old(now time.Time) bool { return !c.retireAt.IsZero() && now.After(c.retireAt) }

// queue is a list of connections. It is no container/list, which would allocate for each move, three times a request.
type queue struct {
	first, last *connection
	n           int
}

// move puts the connection at the end of a queue. A nil queue only removes it from the one that it is in.
func (c *connection) move(to *queue) {
	if from := c.in; from != nil {
		from.remove(c)
	}
	if c.in = to; to != nil {
		to.add(c)
	}
}

func (q *queue) add(c *connection) {
	q.n++
	c.before = q.last
	if q.last = c; c.before != nil {
		c.before.next = c
	} else {
		q.first = c
	}
}

func (q *queue) remove(c *connection) {
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
func (c *connection) close() {
	c.cancel()
	conn := c.Conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close()
}

// progress records that what the peer sent was of use.
func (c *connection) progress() {
	if c != nil && c.wire != nil {
		c.wire.progress()
	}
}

type connectionKey struct{}

// connectionOf returns the connection that a request came in on; nil if none was accepted for it.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// accept adds a new connection. It is the server's ConnContext, which net/http calls before any other hook.
func (cs *connections) accept(ctx context.Context, conn net.Conn) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	c := &connection{Conn: conn, wire: wireOf(conn), cancel: cancel}
	if cs.maxAge > 0 {
		// The jitter keeps connections that were opened together, as after a roll-out, from being retired together.
		c.retireAt = time.Now().Add(time.Duration(float64(cs.maxAge) * (0.9 + 0.2*rand.Float64())))
	}
	if candidate := cs.add(c); candidate != nil {
		candidate.close()
		cs.evicted()
		runtime.Gosched() // serve the accepted connections before more are accepted: their requests may be there already
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// add counts a connection and returns the one to evict for it, which it no longer counts; nil if there is room.
func (cs *connections) add(c *connection) (evict *connection) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.max > 0 && len(cs.open) >= cs.max {
		evict = cs.evictionCandidate()
		defer cs.remove(evict) // last, so that a drain never sees a moment without connections
	}
	if cs.open == nil {
		cs.open = make(map[net.Conn]*connection)
	}
	cs.open[c.Conn] = c
	c.move(&cs.awaited)
	return evict
}

// evictionCandidate returns the connection to evict first. There must be one.
func (cs *connections) evictionCandidate() *connection {
	switch {
	case 3*cs.awaited.n >= len(cs.open):
		return cs.awaited.first
	case cs.idle.n > 0:
		return cs.idle.first
	}
	return cs.active.first
}

// changed follows a connection through its states. It is the server's ConnState.
func (cs *connections) changed(conn net.Conn, state http.ConnState) {
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
func (cs *connections) arrived(c *connection) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.in == &cs.awaited { // it may have been evicted meanwhile
		c.move(&cs.active)
	}
}

func (cs *connections) remove(c *connection) {
	c.move(nil)
	delete(cs.open, c.Conn)
	if len(cs.open) == 0 && cs.none != nil {
		close(cs.none)
		cs.none = nil
	}
}

func (cs *connections) count() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.open)
}

// waitNone returns when no connection is open, or when ctx is done.
func (cs *connections) waitNone(ctx context.Context) {
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
