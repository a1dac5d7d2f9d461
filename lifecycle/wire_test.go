package lifecycle

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/evergate/evergate/internal/conns"
)

// kernel is a connection that records the sizes of its buffers.
type kernel struct {
	net.Conn
	read, write int
}

func (k *kernel) SetReadBuffer(bytes int) error  { k.read = bytes; return nil }
func (k *kernel) SetWriteBuffer(bytes int) error { k.write = bytes; return nil }

// kernels is a listener that wraps its connections in kernel.
type kernels struct {
	*pipeListener
	accepted []*kernel
}

func (l *kernels) Accept() (net.Conn, error) {
	c, err := l.pipeListener.Accept()
	if err != nil {
		return nil, err
	}
	k := &kernel{Conn: c}
	l.accepted = append(l.accepted, k)
	return k, nil
}

// The kernel buffers little for a connection that is served with TLS, and less for a connection to the ops port.
func TestBuffersAreBounded(t *testing.T) {
	keys := newPKI(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		reviews, ops := &kernels{pipeListener: w.reviews}, &kernels{pipeListener: w.ops}
		w.Open = func(context.Context) (net.Listener, error) { return reviews, nil }
		w.OpsListener, w.TLS = ops, keys.server
		w.run(t)
		for name, test := range map[string]struct {
			listener    *kernels
			read, write int
		}{
			"reviews": {reviews, 64 << 10, 16 << 10},
			"ops":     {ops, 1 << 10, 16 << 10},
		} {
			conn := test.listener.mustDial(t)
			synctest.Wait()
			if k := test.listener.accepted[0]; k.read != test.read || k.write != test.write {
				t.Errorf("%s: buffers of %d and %d bytes, want %d and %d", name, k.read, k.write, test.read, test.write)
			}
			_ = conn.Close()
		}
	})
}

// A handshake ends at the limit, long before crypto/tls would end it. A handshake with smaller certificates succeeds,
// and the requests after it have the whole limit for themselves.
func TestHandshakeIsBounded(t *testing.T) {
	keys := newPKI(t)
	keys.server.ClientAuth = tls.RequestClientCert
	r := startReplica(t, keys)
	for _, test := range []struct {
		name string
		size int
		want string
	}{
		{"none", 0, "200 HTTP/1.1"},
		{"15 KiB", 15 << 10, "200 HTTP/1.1"},
		{"64 KiB", 64 << 10, "failed"},
		{"250 KiB", 250 << 10, "failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport := &http.Transport{TLSClientConfig: keys.presenting(test.size)}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for range 2 {
				got := post(client, "https://"+r.addr, strings.Repeat("x", 20<<10))
				if !strings.HasPrefix(got, "200") {
					got = "failed"
				}
				if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}
		})
	}
	r.terminate(t)
}

// presenting returns the configuration of a client with certificates of this size.
func (p pki) presenting(size int) *tls.Config {
	one := p.server.Certificates[0]
	chain := tls.Certificate{PrivateKey: one.PrivateKey}
	for n := len(one.Certificate[0]); n <= size; n += len(one.Certificate[0]) {
		chain.Certificate = append(chain.Certificate, one.Certificate[0])
	}
	config := p.client.Clone()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &chain, nil }
	return config
}

// The header of each request has the whole limit for itself, whatever the handshake and earlier requests have used.
func TestLongHeadersAreRead(t *testing.T) {
	keys := newPKI(t)
	keys.server.ClientAuth = tls.RequestClientCert
	r := startReplica(t, keys)
	transport := &http.Transport{TLSClientConfig: keys.presenting(15 << 10)}
	client := &http.Client{Transport: transport}
	for i := range 5 {
		// a POST is not sent again
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+r.addr, nil)
		must(t, err)
		request.Header.Set("Long", strings.Repeat("x", 18<<10))
		resp, err := client.Do(request)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("request %d: %s", i, resp.Status)
		}
	}
	transport.CloseIdleConnections() // a drain waits for them
	r.terminate(t)
}

// Reading a body is progress, however long it is.
func TestLongBodyIsRead(t *testing.T) {
	keys := newPKI(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	s := newServer(echo, new(conns.Set), slog.New(slog.DiscardHandler))
	s.TLSConfig = conns.TLSConfig(keys.server)
	go serve(s, l, func(error) {})
	defer s.Close()
	transport := &http.Transport{TLSClientConfig: keys.client}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	body := strings.Repeat("x", 5<<20)
	for range 2 {
		if got := post(client, "https://"+l.Addr().String(), body); got != "200 "+body {
			t.Errorf("got %.100s", got)
		}
	}
}

// A body that no handler reads may end its connection, but its request is answered.
func TestUnreadBodyIsAnswered(t *testing.T) {
	keys := newPKI(t)
	r := startReplica(t, keys)
	transport := &http.Transport{TLSClientConfig: keys.client}
	client := &http.Client{Transport: transport}
	body := strings.Repeat("x", 200<<10)
	for range 20 {
		if got := post(client, "https://"+r.addr, body); !strings.HasPrefix(got, "200") {
			t.Fatalf("got %s", got)
		}
	}
	transport.CloseIdleConnections() // a drain waits for them
	r.terminate(t)
}

// A request ends with its connection, even if a second request has followed it. In this case, net/http does not notice
// that the peer has disconnected.
func TestEvictedRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		answered := make(chan struct{})
		c.Handler.(*http.ServeMux).HandleFunc("/waits", func(_ http.ResponseWriter, r *http.Request) {
			c.reached <- struct{}{}
			<-r.Context().Done()
			close(answered)
		})
		conn := c.reviews.mustDial(t)
		const request = "GET /waits HTTP/1.1\r\nHost: evergate\r\n\r\n"
		go func() { _, _ = io.WriteString(conn, request) }()
		<-c.reached
		go func() { _, _ = io.WriteString(conn, request) }() // net/http waits only for its first byte
		synctest.Wait()
		for range 3 { // all others are answered too, so the longest has to be evicted
			busy := c.client()
			go call(busy, "/slow")
			<-c.reached
		}
		<-answered
		close(c.slowly)
	})
}
