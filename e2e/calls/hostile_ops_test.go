package calls

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/hostile"
)

const (
	floodWorkers = 400 // they opened 3,400 connections a second on the two cores that they shared with the server
	probes       = 100

	// probeTimeout is the timeout of the liveness probe in the manifests.
	probeTimeout = 5 * time.Second
)

const (
	askLivez   = "GET /livez HTTP/1.1\r\nHost: evergate\r\n\r\n"
	askMetrics = "GET /metrics HTTP/1.1\r\nHost: evergate\r\n\r\n"
	askPolicy  = "GET /policy HTTP/1.1\r\nHost: evergate\r\n\r\n"
)

// TestProbesDuringFloods opens floods of connections on either port. The kubelet's probe, which uses a new connection
// each time, is always answered. After three missing responses, the kubelet would restart the Pod.
func TestProbesDuringFloods(t *testing.T) {
	notShort(t)
	insecure := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // a flood does not verify the server
	for _, test := range []struct {
		name  string
		flood func(ctx context.Context, s *siege, i int)
	}{
		{"ops, an answer each", func(ctx context.Context, s *siege, i int) {
			hostile.Once(ctx, s.server.Ops, i, nil, askLivez, 1)
		}},
		{"ops, nothing said", func(ctx context.Context, s *siege, i int) { hostile.Once(ctx, s.server.Ops, i, nil, "", 0) }},
		{"ops, nothing said and kept", func(ctx context.Context, s *siege, i int) {
			hostile.Once(ctx, s.server.Ops, i, nil, "", 1)
		}},
		{"ops, metrics", func(ctx context.Context, s *siege, i int) {
			hostile.Once(ctx, s.server.Ops, i, nil, askMetrics, 1<<20)
		}},
		{"serving, an answer each", func(ctx context.Context, s *siege, i int) {
			hostile.Once(ctx, s.server.Addr, i, insecure, askLivez, 1)
		}},
		{"serving, nothing said", func(ctx context.Context, s *siege, i int) {
			hostile.Once(ctx, s.server.Addr, i, nil, "", 0)
		}},
		{"serving, nothing said and kept", func(ctx context.Context, s *siege, i int) {
			hostile.Once(ctx, s.server.Addr, i, nil, "", 1)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			peak := besiege(t, func(ctx context.Context, s *siege) {
				start := time.Now()
				flood := hostile.StartFlood(ctx, floodWorkers, func(ctx context.Context, i int) { test.flood(ctx, s, i) })
				lost, slowest := s.probe(ctx, probes)
				n := flood.Stop()
				t.Logf("%.0f connections a second; the slowest of %d probes took %s", float64(n)/time.Since(start).Seconds(),
					probes, slowest)
				for _, err := range lost {
					t.Errorf("a probe was lost: %v", err)
				}
			}, "--max-connection-age=5m")
			if peak > memoryBound {
				t.Errorf("the process used %d MiB, its limit is %d MiB", peak>>20, memoryBound>>20)
			}
		})
	}
}

// probe requests /livez n times like the kubelet. It returns the errors and the time of the slowest probe.
func (s *siege) probe(ctx context.Context, n int) (lost []error, slowest time.Duration) {
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       (&net.Dialer{Timeout: probeTimeout}).DialContext,
	}}
	for range n {
		start := time.Now()
		if err := probeOnce(ctx, client, "http://"+s.server.Ops+"/livez"); err != nil {
			lost = append(lost, err)
		}
		slowest = max(slowest, time.Since(start))
	}
	return lost, slowest
}

func probeOnce(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered with %s", resp.Status)
	}
	return nil
}
