package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// idleConnections is the number of idle connections that the client keeps: client-go's transport/cache.go.
const idleConnections = 25

// newClient returns a client with the settings of kube-apiserver's webhook client (k8s.io/apiserver/pkg/util/webhook,
// client-go transport/cache.go): HTTP/1.1, and 25 idle connections that it closes after 90 s. It does not have a
// session cache, so each new connection is a full handshake.
func newClient(roots *x509.CertPool) *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     90 * time.Second,
	}}
}

// sender repeatedly sends one review, each time with a different uid, and verifies every response.
type sender struct {
	*review
	client *http.Client
	url    string
	right  *right
	floor  bool
	count  atomic.Int64
}

// right is the right response. The first response is verified, and all others must be the same, except for the uid.
type right struct {
	once   sync.Once
	err    error
	before []byte // the part before the uid
	after  []byte
}

func newSender(r *review, s *server, client *http.Client) *sender {
	return &sender{
		review: r, client: client, url: "https://" + s.addr + r.path + "?timeout=10s", right: new(right), floor: s.floor,
	}
}

// worker makes calls one after the other. It has a separate copy of the body, to write uids into.
type worker struct {
	*sender
	body []byte
	got  bytes.Buffer
}

func (c *sender) worker() *worker { return &worker{sender: c, body: slices.Clone(c.review.body)} }

// call makes one call and returns its response time.
func (w *worker) call(ctx context.Context) (time.Duration, error) {
	uid := w.number(w.body, w.count.Add(1))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(w.body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, */*")
	req.Header.Set("User-Agent", "kube-apiserver-admission")
	start := time.Now()
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	w.got.Reset()
	if _, err := io.Copy(&w.got, resp.Body); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", resp.Status, w.got.Bytes())
	}
	return took, w.check(uid, w.got.Bytes())
}

func (w *worker) check(uid, answer []byte) error {
	if w.floor {
		return nil // its response is a constant
	}
	w.right.once.Do(func() {
		w.right.err = w.verify(uid, answer)
		before, after, _ := bytes.Cut(answer, uid)
		w.right.before, w.right.after = slices.Clone(before), slices.Clone(after)
	})
	if w.right.err != nil {
		return w.right.err
	}
	before, after, _ := bytes.Cut(answer, uid)
	if !bytes.Equal(before, w.right.before) || !bytes.Equal(after, w.right.after) {
		return fmt.Errorf("this response differs from others: %s", answer)
	}
	return nil
}

// saturate runs n workers that call as fast as they can for a duration. It returns the number of answered calls.
func (c *sender) saturate(ctx context.Context, n int, d time.Duration) (calls int64, err error) {
	end := time.Now().Add(d)
	return c.repeat(ctx, n, func(int64) bool { return time.Now().Before(end) })
}

// repeat runs n workers that call while more returns true for the number of calls that have begun.
func (c *sender) repeat(ctx context.Context, n int, more func(begun int64) bool) (calls int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var begun, done atomic.Int64
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			for w := c.worker(); ctx.Err() == nil && more(begun.Add(1)); {
				if _, err := w.call(ctx); err != nil {
					cancel(err)
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	return done.Load(), context.Cause(ctx)
}

// pace makes calls at a constant rate for a duration. It returns the time from the moment when each call was due, so
// the wait of a call that was delayed by earlier calls counts. As many calls may be under way as the client keeps
// connections. One more would cost a handshake, which is as expensive as ten reviews, and would delay the next calls
// too.
func (c *sender) pace(ctx context.Context, perSecond float64, d time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	took := make([]time.Duration, int(d.Seconds()*perSecond))
	var begun atomic.Int64
	var group sync.WaitGroup
	start := time.Now()
	for range idleConnections {
		group.Go(func() {
			for w := c.worker(); ctx.Err() == nil; {
				i := begun.Add(1) - 1
				if i >= int64(len(took)) {
					return
				}
				due := start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
				time.Sleep(time.Until(due))
				late := time.Since(due) // includes the delay of the timer, which the server's work on the same cores causes
				d, err := w.call(ctx)
				if err != nil {
					cancel(err)
					return
				}
				took[i] = late + d
			}
		})
	}
	group.Wait()
	return took, context.Cause(ctx)
}
