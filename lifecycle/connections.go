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

// connections are the open connections of one server: how many there are, how old each is, and which has to go when
// there are too many. It hears of them through the ConnContext and ConnState hooks of the http.Server, and of requests
// that have arrived through its handler.
//
// With max connections open, each new one costs an old one, so that honest callers, and kubelet's probes, get in while a
// hostile peer holds connections by the thousand. The first to go is the one whose request has been awaited longest: an
// honest caller sends a request, with its body, within milliseconds of dialling, a peer that means ill never does. Then
// the one that has been idle longest: callers reuse the one that they used last, so it is the least likely to be chosen.
// Then the one whose answer has been awaited longest: that of an honest caller is bound in time, and its caller about to
// leave; that of a peer that does not read lasts as long as it can.
//
// Those that are awaited are spared while they are few, less than a third of all: with peers that are idle by the thousand it would be
// somebody in the middle of a handshake.
type connections struct {
	maxAge time.Duration // 0: none is ever old
	max    int           // 0: no bound
	shed   func()        // told of each connection that had to go

	mu      sync.Mutex
	open    map[net.Conn]*connection
	awaited queue         // those whose request has not wholly arrived, longest awaited first
	idle    queue         // those between requests, longest idle first
	busy    queue         // those whose request is being answered, longest first
	none    chan struct{} // closed when none is open any more; nil while nobody waits
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

// old says whether the connection has reached its age, so that its next answer should be its last.
func (c *connection) old(now time.Time) bool { return !c.retireAt.IsZero() && now.After(c.retireAt) }

// queue is a list of connections. It is not one of container/list, which would make memory for each move, three a request.
type queue struct {
	first, last *connection
	n           int
}

// move puts the connection at the end of a queue, or takes it out of the one that it is in if that is nil.
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
	c.before, c.next = nil, nil // whoever still has it shall not keep the others in memory
}

// close cuts the connection without a word. A tls.Conn would wait for a peer that does not read to take its alert.
// A request on it ends too: net/http does not see that the peer has gone when more than one request has come from it, and
// what waits for its turn would still be there, and count for none.
func (c *connection) close() {
	c.cancel()
	conn := c.Conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close()
}

// progress takes note that something has come of what the peer sent.
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

// accept takes note of a new connection. It is the server's ConnContext, which is called before any other hook.
func (cs *connections) accept(ctx context.Context, conn net.Conn) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	c := &connection{Conn: conn, wire: wireOf(conn), cancel: cancel}
	if cs.maxAge > 0 {
		// The jitter keeps connections that were opened together, as after a roll-out, from being retired together.
		c.retireAt = time.Now().Add(time.Duration(float64(cs.maxAge) * (0.9 + 0.2*rand.Float64())))
	}
	if victim := cs.add(c); victim != nil {
		victim.close()
		cs.shed()
		runtime.Gosched() // those that were accepted are read before more are: what they ask may have come already
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// add counts a connection and returns the one that has to go for it, which is not counted any more; nil if none has to.
func (cs *connections) add(c *connection) (victim *connection) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.max > 0 && len(cs.open) >= cs.max {
		victim = cs.dispensable()
		defer cs.remove(victim) // last, so that a drain does not see a moment without any
	}
	if cs.open == nil {
		cs.open = make(map[net.Conn]*connection)
	}
	cs.open[c.Conn] = c
	c.move(&cs.awaited)
	return victim
}

// dispensable returns the connection that has to go first. There must be one.
func (cs *connections) dispensable() *connection {
	switch {
	case 3*cs.awaited.n >= len(cs.open):
		return cs.awaited.first
	case cs.idle.n > 0:
		return cs.idle.first
	}
	return cs.busy.first
}

// changed follows a connection through its states. It is the server's ConnState.
func (cs *connections) changed(conn net.Conn, state http.ConnState) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.open[conn]
	if c == nil {
		return // shed already
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

// arrived takes note that a request has wholly arrived.
func (cs *connections) arrived(c *connection) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.in == &cs.awaited { // it may have been shed meanwhile
		c.move(&cs.busy)
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
