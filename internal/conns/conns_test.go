package conns

import (
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// If few connections wait for a request, they are not evicted, however old they are.
func TestFewAwaitedAreSpared(t *testing.T) {
	for _, test := range []struct{ awaited, idle, busy, want int }{
		{9, 0, 0, 0},
		{3, 6, 0, 0},
		{3, 0, 6, 0},
		{2, 7, 0, 1}, // two are in the middle of a handshake, and dozens of peers are idle
		{2, 1, 6, 1}, // an active connection is evicted last
		{2, 0, 7, 2}, // dozens of peers do not read their responses
		{0, 0, 9, 2},
		{1, 1, 1, 0},
		{0, 1, 1, 1},
		{0, 0, 1, 2},
		{1, 0, 0, 0},
	} {
		var cs Set
		cs.Max = test.awaited + test.idle + test.busy
		queues := []*queue{&cs.awaited, &cs.idle, &cs.active}
		for i, n := range []int{test.awaited, test.idle, test.busy} {
			for range n {
				conn, _ := net.Pipe()
				c := &Conn{Conn: conn}
				if cs.add(c) != nil {
					t.Fatalf("%+v: one had to go too early", test)
				}
				c.move(queues[i])
			}
		}
		if want := queues[test.want].root.next; cs.add(&Conn{}) != want {
			t.Errorf("%+v: another one had to go", test)
		}
		if len(cs.open) != cs.Max {
			t.Errorf("%+v: %d are open", test, len(cs.open))
		}
	}
}

// A byte does not renew the position of a connection that still waits for its first request. A request after an idle
// time does.
func TestAByteRenewsNoPlace(t *testing.T) {
	for name, test := range map[string]struct {
		before, after []http.ConnState // of the first connection, before and after the second one opens
		want          int              // the connection that is evicted
	}{
		"silent":        {nil, nil, 0},
		"a byte":        {nil, []http.ConnState{http.StateActive}, 0},
		"a byte, early": {[]http.ConnState{http.StateActive}, nil, 0},
		"a later byte":  {[]http.ConnState{http.StateActive, http.StateIdle}, []http.ConnState{http.StateActive}, 1},
		"idle":          {[]http.ConnState{http.StateActive, http.StateIdle}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			cs := Set{Max: 2}
			var open []net.Conn
			accept := func() {
				conn, _ := net.Pipe()
				open = append(open, conn)
				cs.accept(t.Context(), conn)
				cs.changed(conn, http.StateNew)
			}
			change := func(states []http.ConnState) {
				for _, state := range states {
					cs.changed(open[0], state)
				}
			}
			accept()
			change(test.before)
			accept()
			change(test.after)
			accept()
			for i, conn := range open {
				if got := cs.open[conn] == nil; got != (i == test.want) {
					t.Errorf("connection %d was evicted: %t", i, got)
				}
			}
		})
	}
}

// The arrival of a request counts only while the request is awaited: not on an evicted connection, and not again after
// the response. A body that ends with an error has not arrived.
func TestArrival(t *testing.T) {
	cs := Set{Max: 1}
	evicted, open := accept(t, &cs), accept(t, &cs)
	cs.arrived(evicted)
	if cs.active.n != 0 {
		t.Error("a connection that was evicted is active")
	}
	failed := body{io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), &cs, open}
	if _, err := failed.Read(nil); err == nil || open.in != &cs.awaited {
		t.Errorf("a body that ended in the error %v has arrived", err)
	}
	whole := body{io.NopCloser(strings.NewReader("")), &cs, open}
	if _, err := whole.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || open.in != &cs.active {
		t.Errorf("a body that ended with %v has not arrived", err)
	}
	cs.changed(open.Conn, http.StateIdle)
	if _, err := whole.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || open.in != &cs.idle {
		t.Errorf("a body that has arrived arrives again: %v", err)
	}
}

// accept adds a connection to a set.
func accept(t *testing.T, cs *Set) *Conn {
	conn, _ := net.Pipe()
	return Of(cs.accept(t.Context(), conn))
}

// A connection is old after its age, ±10 %. A request without a connection is never old.
func TestOld(t *testing.T) {
	aged, ageless := accept(t, &Set{MaxAge: time.Hour}), accept(t, new(Set))
	now := time.Now()
	for _, test := range []struct {
		c     *Conn
		after time.Duration
		want  bool
	}{
		{aged, 50 * time.Minute, false}, {aged, 67 * time.Minute, true}, {ageless, 67 * time.Minute, false},
		{nil, time.Hour, false},
	} {
		if got := test.c.Old(now.Add(test.after)); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// WaitNone waits for the last connection, however it ends.
func TestWaitNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cs Set
		open := []*Conn{accept(t, &cs), accept(t, &cs)}
		done := make(chan struct{}, 2)
		for range 2 {
			go func() { cs.WaitNone(t.Context()); done <- struct{}{} }()
		}
		for _, c := range open {
			synctest.Wait()
			if len(done) > 0 {
				t.Error("a connection is open")
			}
			cs.changed(c.Conn, http.StateClosed)
		}
		<-done
		<-done
		cs.WaitNone(t.Context()) // none is open now
	})
}

// The context of a connection ends with it, so no memory is kept for it.
func TestContextEndsWithItsConnection(t *testing.T) {
	for _, state := range []http.ConnState{http.StateClosed, http.StateHijacked} {
		var cs Set
		conn, _ := net.Pipe()
		ctx := cs.accept(t.Context(), conn)
		if cs.changed(conn, state); ctx.Err() == nil || cs.Count() != 0 {
			t.Errorf("%s: %v, %d connections", state, ctx.Err(), cs.Count())
		}
	}
}

// Connections keep the order in which they entered their queue, whichever others are removed.
func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var queues [2]queue
	queues[0].init()
	queues[1].init()
	var want [2][]*Conn
	all := make([]*Conn, 6)
	for i := range all {
		all[i] = new(Conn)
	}
	for range 2000 {
		c := all[random.IntN(len(all))]
		for i := range want {
			want[i] = slices.DeleteFunc(want[i], func(other *Conn) bool { return other == c })
		}
		switch i := random.IntN(3); i {
		case len(queues):
			c.move(nil)
		default:
			c.move(&queues[i])
			want[i] = append(want[i], c)
		}
		for i := range queues {
			var forth, back []*Conn
			for c := queues[i].root.next; c != &queues[i].root; c = c.next {
				forth = append(forth, c)
			}
			for c := queues[i].root.before; c != &queues[i].root; c = c.before {
				back = append(back, c)
			}
			slices.Reverse(back)
			if !slices.Equal(forth, want[i]) || !slices.Equal(back, want[i]) || queues[i].n != len(want[i]) {
				t.Fatalf("%v and %v, counted as %d, want %v", forth, back, queues[i].n, want[i])
			}
		}
	}
}

// A peer that does not read cannot delay the new connection that evicts it. The alert of TLS would wait for the peer.
func TestClosingWaitsForNobody(t *testing.T) {
	keys := httptest.NewTLSServer(nil) // the server itself is not needed
	defer keys.Close()
	trusting := keys.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trusting.ServerName = keys.Certificate().DNSNames[0]
	synctest.Test(t, func(t *testing.T) {
		peer, accepted := net.Pipe()
		config := keys.TLS.Clone()
		config.SessionTicketsDisabled = true // no client would read them
		conn := tls.Server(accepted, config)
		handshake := make(chan error, 1)
		go func() { handshake <- tls.Client(peer, trusting).HandshakeContext(t.Context()) }()
		if err := errors.Join(conn.HandshakeContext(t.Context()), <-handshake); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		(&Conn{Conn: conn, cancel: func() {}}).close()
		if took := time.Since(start); took > 0 {
			t.Errorf("it took %s", took)
		}
	})
}
