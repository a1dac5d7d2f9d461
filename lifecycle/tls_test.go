package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// pki is a serving certificate and the clients that trust it.
type pki struct {
	server, client *tls.Config
}

func newPKI(t *testing.T) pki {
	t.Helper()
	https := httptest.NewTLSServer(nil)
	https.Close()
	client := https.Client().Transport.(*http.Transport).TLSClientConfig
	client.ServerName = "example.com" // in the certificate of package httptest
	return pki{
		server: &tls.Config{Certificates: https.TLS.Certificates, MinVersion: tls.VersionTLS13},
		client: client,
	}
}

// replica is a process on real sockets.
type replica struct {
	*Process
	addr    string
	signals chan os.Signal
	result  chan error
	ready   chan struct{}
	records records
}

// startReplica starts a process with a self-probe over TLS and returns when it is ready.
func startReplica(t *testing.T, keys pki) *replica {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r := &replica{
		addr:    listener.Addr().String(),
		signals: make(chan os.Signal), result: make(chan error, 1), ready: make(chan struct{}),
	}
	r.records.observe = func(_, to string) {
		if to == "ready" {
			close(r.ready)
		}
	}
	r.Process = &Process{
		Open:    func(context.Context) (net.Listener, error) { return listener, nil },
		TLS:     keys.server,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }),
		Exempt:  func(r *http.Request) bool { return r.Header.Get("Self-Probe") != "" },
		Probe: func(ctx context.Context) error {
			c := &http.Client{Transport: &http.Transport{TLSClientConfig: keys.client, DisableKeepAlives: true}}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+listener.Addr().String(), nil)
			if err != nil {
				return err
			}
			request.Header.Set("Self-Probe", "yes")
			resp, err := c.Do(request)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		},
		DrainTimeout: time.Hour, ShutdownTimeout: time.Hour, // the drain must end by itself
		Log: r.records.logger(), Observer: &r.records,
	}
	go func() { r.result <- r.Run(context.Background(), r.signals) }()
	select {
	case <-r.ready:
	case err := <-r.result:
		t.Fatalf("Run returned %v before it was ready:\n%s", err, r.records.text())
	}
	return r
}

// terminate drains the replica and waits for its end.
func (r *replica) terminate(t *testing.T) {
	t.Helper()
	r.signals <- syscall.SIGTERM
	checkExit(t, <-r.result, 0, "")
}

// Clients that keep their connections continue to call as fast as they can while one replica after another is replaced.
// No call may fail, although each connection ends on each replica.
func TestRollOut(t *testing.T) {
	const clients, rollOuts = 8, 10
	keys := newPKI(t)
	current := startReplica(t, keys)
	var endpoint atomic.Pointer[string] // the endpoint of the Service's address
	endpoint.Store(&current.addr)

	var wg sync.WaitGroup
	done, called := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	for range clients {
		transport := &http.Transport{
			TLSClientConfig: keys.client,
			// A client dials in advance, and keeps connections that it did not need: kube-apiserver for 90 s.
			IdleConnTimeout: 50 * time.Millisecond,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, *endpoint.Load())
			},
		}
		t.Cleanup(transport.CloseIdleConnections)
		client := &http.Client{Transport: transport}
		wg.Go(func() {
			for {
				switch got := post(client, "https://evergate.evergate.svc/", ""); got {
				case "200 HTTP/1.1", "200 close HTTP/1.1":
				default:
					t.Errorf("a call failed: %s", got)
				}
				calls.Add(1)
				select {
				case called <- struct{}{}:
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range rollOuts {
		for range 10 * clients { // each has its connections by then
			<-called
		}
		next := startReplica(t, keys)
		endpoint.Store(&next.addr)
		current.terminate(t)
		current = next
	}
	close(done)
	wg.Wait()
	current.terminate(t)
	t.Logf("%d calls over %d rollouts", calls.Load(), rollOuts)
}

// A client that also offers HTTP/2 gets HTTP/1.1. The handshake of a client that offers only HTTP/2 fails.
func TestHTTP1Only(t *testing.T) {
	keys := newPKI(t)
	r := startReplica(t, keys)
	offers := keys.client.Clone()
	offers.NextProtos = []string{"h2", "http/1.1"}
	conn, err := tls.Dial("tcp", r.addr, offers)
	must(t, err)
	if got := conn.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("negotiated %q, want http/1.1", got)
	}
	_ = conn.Close()
	only := keys.client.Clone()
	only.NextProtos = []string{"h2"}
	if conn, err := tls.Dial("tcp", r.addr, only); err == nil {
		_ = conn.Close()
		t.Error("a client that supports only HTTP/2 was accepted")
	}
	r.terminate(t)
}

// A socket that is in use is a failure to start.
func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	p := &Process{Open: func(ctx context.Context) (net.Listener, error) {
		return new(net.ListenConfig).Listen(ctx, "tcp", taken.Addr().String())
	}}
	err = p.Run(t.Context(), nil)
	checkExit(t, err, ExitFailed, fmt.Sprintf("start: listen tcp %s: bind: address already in use", taken.Addr()))
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Error("the cause is lost")
	}
}
