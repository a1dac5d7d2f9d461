package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/evergate/evergate/review/reviewtest"
)

// clients is the number of concurrent clients when costs are measured.
const clients = 8

// sender repeatedly sends one review to a server, each time with a different uid, and verifies every response.
type sender struct {
	*review
	*server
	sent atomic.Int64

	once  sync.Once
	right []byte // the first response, which is verified, with the uid of package reviewtest
	wrong error  // why it is wrong
}

// send sends n reviews. It returns the processor time of the server for each, in microseconds.
func (s *sender) send(ctx context.Context, n int) (micros float64, err error) {
	took, err := s.used(n, func() error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var begun atomic.Int64
		var group sync.WaitGroup
		for range clients {
			group.Go(func() {
				body := slices.Clone(s.body)
				for ctx.Err() == nil && begun.Add(1) <= int64(n) {
					if err := s.one(ctx, body); err != nil {
						cancel(fmt.Errorf("%s: %s: %w", s.server.name, s.review.name, err))
					}
				}
			})
		}
		group.Wait()
		return context.Cause(ctx)
	})
	return float64(took.Nanoseconds()) / 1000, err
}

// one sends one review. All responses of evergate must be the same, except for the uid.
func (s *sender) one(ctx context.Context, body []byte) error {
	uid := s.number(body, s.sent.Add(1))
	status, answer, err := s.call(ctx, http.MethodPost, s.url(s.path), body)
	switch {
	case err != nil:
		return err
	case status != http.StatusOK:
		return fmt.Errorf("%d: %s", status, answer)
	case s.ops == "":
		return nil // the floor's response is a constant, and a test in e2e/calls checks the responses of the peer
	}
	answer = bytes.Replace(answer, uid, []byte(reviewtest.UID), 1)
	s.once.Do(func() { s.right, s.wrong = answer, s.verify(answer) })
	if s.wrong == nil && !bytes.Equal(answer, s.right) {
		return fmt.Errorf("this response differs from others: %s", answer)
	}
	return s.wrong
}

// url returns the URL of a review.
func (s *server) url(path string) string { return "https://" + s.addr + path + "?timeout=30s" }

// call makes one call with the headers of kube-apiserver, and returns the status and body of the response.
func (s *server) call(ctx context.Context, method, url string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, */*")
	req.Header.Set("User-Agent", "kube-apiserver-admission")
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}
