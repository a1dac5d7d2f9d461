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

// idleConnections is how many the client keeps open: client-go's transport/cache.go.
const idleConnections = 25

// newClient returns a client with the settings of kube-apiserver's webhook client (k8s.io/apiserver/pkg/util/webhook,
// client-go transport/cache.go): HTTP/1.1, 25 idle connections that it closes after 90 s, and no session cache, so that
// each new connection is a full handshake.
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

// sender sends one review, again and again, each time with another uid, and verifies every answer.
type sender struct {
	*review
	client *http.Client
	url    string
	right  *right
	floor  bool
	count  atomic.Int64
}

// right is what an answer has to be. The first one is verified, and all others must be the same but for the uid.
type right struct {
	once   sync.Once
	err    error
	before []byte // what stands before the uid
	after  []byte
}

func newSender(r *review, s *server, client *http.Client) *sender {
	return &sender{
		review: r, client: client, url: "https://" + s.addr + r.path + "?timeout=10s", right: new(right), floor: s.floor,
	}
}

// worker makes calls one after the other. It has a body of its own to write uids into.
type worker struct {
	*sender
	body []byte
	got  bytes.Buffer
}

func (c *sender) worker() *worker { return &worker{sender: c, body: slices.Clone(c.review.body)} }

// call makes one call and returns how long its answer took.
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
		return nil // its answer is a constant
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
		return fmt.Errorf("this answer differs from others: %s", answer)
	}
	return nil
}

// saturate has n workers call as fast as they can for a time. It returns how many calls were answered.
func (c *sender) saturate(ctx context.Context, n int, d time.Duration) (calls int64, err error) {
	end := time.Now().Add(d)
	return c.repeat(ctx, n, func(int64) bool { return time.Now().Before(end) })
}

// repeat has n workers call as long as more returns true for the number of calls that have begun.
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

// pace makes calls at a rate, evenly, for a time. It returns how long each took from the moment that it was due, so
// that one that had to wait for those before it counts its wait. As many as the client keeps connections for may be
// under way: one more would cost a handshake, as much as ten reviews, and delay the next ones as well.
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
				late := time.Since(due) // by the timer too, which the server's work on the same cores makes late
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
