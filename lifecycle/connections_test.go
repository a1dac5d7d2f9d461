package lifecycle

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is a process with a limit of three connections, and its peers.
type crowd struct {
	*world
	t *testing.T
}

func newCrowd(t *testing.T) crowd {
	w := newWorld()
	w.MaxConnections = 3
	w.run(t)
	return crowd{w, t}
}

// silent opens a connection that does not send anything, and returns a channel that receives when it is closed.
func (c crowd) silent() <-chan time.Time {
	conn := c.reviews.mustDial(c.t)
	synctest.Wait()
	return goesAway(conn)
}

// client returns a client that has made a call and keeps its connection.
func (c crowd) client() *http.Client {
	client := c.reviews.client(c.t)
	c.call(client)
	return client
}

// call makes a call and returns when its connection is idle, which is shortly after the response.
func (c crowd) call(client *http.Client) {
	c.t.Helper()
	checkCall(c.t, client, "/review", "200")
	synctest.Wait()
}

func (c crowd) checkGone(what string, gone <-chan time.Time, want bool) {
	c.t.Helper()
	synctest.Wait()
	if got := len(gone) == 1; got != want {
		c.t.Errorf("%s: gone is %t, want %t", what, got, want)
	}
}

func (c crowd) end(evicted int) {
	c.t.Helper()
	if n := c.conns.Count(); n > 3 {
		c.t.Errorf("%d connections are open, want at most 3", n)
	}
	if c.records.evicted != evicted {
		c.t.Errorf("%d connections were evicted, want %d", c.records.evicted, evicted)
	}
}

func TestOldestSilentConnectionGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		honest := c.client()
		first, second := c.silent(), c.silent()
		third := c.silent()
		c.checkGone("the first silent one", first, true)
		c.checkGone("the second silent one", second, false)
		for range 1000 {
			c.silent()
		}
		c.checkGone("the third silent one", third, true)
		before := c.conns.Count()
		c.call(honest)
		if after := c.conns.Count(); after != before {
			t.Errorf("the legitimate client had to dial again: %d connections were open, now %d", before, after)
		}
		c.call(c.client()) // a new client is served
		c.end(1002)
	})
}

// An incomplete request counts like no request, whether it is the first on its connection or a later one.
func TestUnfinishedRequestGoesFirst(t *testing.T) {
	const whole, unfinished = "GET /review HTTP/1.1\r\nHost: evergate\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: evergate\r\nContent-Length: 9\r\n\r\n1234"
	for name, requests := range map[string]string{
		"first": unfinished,
		"later": whole + unfinished,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t)
				honest := c.client()
				conn := c.reviews.mustDial(t)
				gone := goesAway(conn)
				fmt.Fprint(conn, requests)
				synctest.Wait()
				newer := c.silent()
				c.checkGone("the unfinished one", gone, false)
				c.silent()
				c.checkGone("the unfinished one", gone, true)
				c.checkGone("the newer one", newer, false)
				before := c.conns.Count()
				c.call(honest)
				if after := c.conns.Count(); after != before {
					t.Errorf("the legitimate client had to dial again: %d connections were open, now %d", before, after)
				}
				c.end(1)
			})
		})
	}
}

// A complete request is answered, even if it is the first on its connection and other connections are idle.
func TestFirstRequestIsAnswered(t *testing.T) {
	for name, body := range map[string]string{"without a body": "", "with a body": "1234"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t)
				answer := make(chan string)
				go func() { answer <- post(c.reviews.client(t), "http://evergate/slow", body) }()
				<-c.reached
				c.client()
				for range 10 {
					c.silent()
				}
				close(c.slowly)
				if got := <-answer; got != "200" {
					t.Errorf("got %q, want 200", got)
				}
				c.end(9)
			})
		})
	}
}

func TestLongestIdleConnectionGoesSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		a, b, busy := c.client(), c.client(), c.client()
		c.call(a) // so b is idle for longer
		go call(busy, "/slow")
		<-c.reached
		gone := c.silent()
		c.call(a)
		c.checkGone("the newcomer", gone, false)
		c.call(b) // on a new connection, and the silent one is evicted
		c.checkGone("the newcomer", gone, true)
		close(c.slowly)
		c.end(2)
	})
}

// A new connection is served even if all others are active, because it may be a probe that shows the reason.
func TestLongestBusyConnectionGoesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		var answers [3]chan string
		for i := range answers {
			answers[i] = make(chan string, 1)
			busy := c.client()
			go func() { answers[i] <- call(busy, "/slow") }()
			<-c.reached
		}
		c.client()
		close(c.slowly)
		for i, want := range []string{`Post "http://evergate/slow": EOF`, "200", "200"} {
			if got := <-answers[i]; got != want {
				t.Errorf("client %d got %q, want %q", i, got, want)
			}
		}
		c.end(1)
	})
}

// The ops port has a separate limit.
func TestOpsConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.run(t)
		var first net.Conn
		for i := range maxOpsConnections + 1 {
			conn := w.ops.mustDial(t)
			if i == 0 {
				first = conn
			}
		}
		start := time.Now()
		if held := (<-goesAway(first)).Sub(start); held > 0 {
			t.Errorf("the first goes after %s, want immediately", held)
		}
		checkCall(t, w.ops.client(t), "/livez", "200")
	})
}
