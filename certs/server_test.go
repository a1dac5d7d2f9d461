package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/evergate/evergate/internal/atomicdir"
)

func TestParseTLSVersion(t *testing.T) {
	for text, want := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		if got, err := ParseTLSVersion(text); err != nil || got != want {
			t.Errorf("%s: got %x, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1.1", "TLS1.3"} {
		_, err := ParseTLSVersion(text)
		want := `unknown TLS version "` + text + `": use 1.3, or 1.2 for clients without 1.3`
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// serve responds on a real listener with real TLS handshakes. (httptest would add its own certificate.)
func serve(t *testing.T, config *tls.Config, h http.Handler) net.Addr {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{Handler: h, TLSConfig: config, Protocols: new(http.Protocols),
		ErrorLog: log.New(io.Discard, "", 0)}
	server.Protocols.SetHTTP1(true)
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr()
}

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })

// handshake opens one connection and closes it.
func handshake(addr net.Addr, config *tls.Config) (tls.ConnectionState, error) {
	conn, err := tls.Dial("tcp", addr.String(), config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer conn.Close()
	// A TLS 1.3 client finishes before the server, so only a response shows that the server accepted the client.
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		return tls.ConnectionState{}, err
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		return tls.ConnectionState{}, err
	}
	return conn.ConnectionState(), nil
}

// loadedSource returns a Source that has loaded the files in the volume.
func loadedSource(t *testing.T, volume *atomicdir.Dir) *Source {
	t.Helper()
	s, _ := newVolumeSource(t, volume, nil)
	must(t, s.Wait(t.Context()))
	return s
}

func TestServerConfig(t *testing.T) {
	volume := atomicdir.New(t)
	ca := newCA(t, "ca", nil)
	volume.Write(secret(t, sign(t, ca), ca))
	source := loadedSource(t, volume)
	if got := ServerConfig(source, tls.VersionTLS13, nil).NextProtos; !slices.Equal(got, []string{"http/1.1"}) {
		t.Errorf("protocols: %v", got)
	}
	for name, test := range map[string]struct {
		min     uint16
		client  *tls.Config
		version uint16 // 0: the handshake fails
		alpn    string
	}{
		"1.3":        {tls.VersionTLS13, &tls.Config{}, tls.VersionTLS13, ""},
		"1.2 to 1.3": {tls.VersionTLS13, &tls.Config{MaxVersion: tls.VersionTLS12}, 0, ""},
		"1.2 to 1.2": {tls.VersionTLS12, &tls.Config{MaxVersion: tls.VersionTLS12}, tls.VersionTLS12, ""},
		"1.1 to 1.2": {tls.VersionTLS12, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, 0,
			""},
		"no HTTP/2": {tls.VersionTLS13, &tls.Config{NextProtos: []string{"h2", "http/1.1"}}, tls.VersionTLS13,
			"http/1.1"},
		"nothing but HTTP/2": {tls.VersionTLS13, &tls.Config{NextProtos: []string{"h2"}}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			addr := serve(t, ServerConfig(source, test.min, nil), ok)
			client := test.client.Clone()
			client.RootCAs, client.ServerName = source.value.Current().roots, serviceName
			client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			for range 2 {
				state, err := handshake(addr, client)
				if (err != nil) != (test.version == 0) {
					t.Fatalf("got %v", err)
				}
				if state.Version != test.version || state.NegotiatedProtocol != test.alpn || state.DidResume {
					t.Errorf("version %x, protocol %q, resumed %v", state.Version, state.NegotiatedProtocol, state.DidResume)
				}
			}
		})
	}
}

// Clients connect continuously while the certificate is renewed, the last time by a CA with a new key that they also
// trust. No handshake fails, and each certificate is used.
func TestRenewedUnderHandshakes(t *testing.T) {
	const renewals = 20
	volume := atomicdir.New(t)
	ca, next := newCA(t, "ca", nil), newCA(t, "ca", nil)
	volume.Write(secret(t, sign(t, ca), ca))
	source := loadedSource(t, volume)
	addr := serve(t, ServerConfig(source, tls.VersionTLS13, nil), ok)

	seen := make(chan string)
	done := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			config := &tls.Config{RootCAs: pool([]*x509.Certificate{ca.Leaf, next.Leaf}), ServerName: serviceName}
			for {
				state, err := handshake(addr, config)
				serial := ""
				if err != nil {
					t.Errorf("handshake: %v", err)
				} else {
					serial = state.PeerCertificates[0].SerialNumber.String()
				}
				select {
				case seen <- serial:
				case <-done:
					return
				}
			}
		})
	}
	for i := range renewals {
		if i > renewals/2 {
			ca = next
		}
		cert := sign(t, ca)
		volume.Write(secret(t, cert, ca))
		if err := source.value.Load(); err != nil {
			t.Error(err)
			break
		}
		for <-seen != cert.Leaf.SerialNumber.String() && !t.Failed() {
			continue
		}
	}
	close(done)
	clients.Wait()
}

func TestProbeConfig(t *testing.T) {
	volume := atomicdir.New(t)
	ca, other := newCA(t, "ca", nil), newCA(t, "other", nil)
	volume.Write(secret(t, sign(t, ca), ca))
	source := loadedSource(t, volume)
	addr := serve(t, ServerConfig(source, tls.VersionTLS13, nil), ok)

	// The certificate is renewed by another CA during a probe, before or after the server has chosen its certificate.
	before := source.ProbeConfig(nil)
	state, err := handshake(addr, before)
	if err != nil {
		t.Fatalf("good: %v", err)
	}
	volume.Write(secret(t, sign(t, other), other))
	must(t, source.value.Load())
	if _, err := handshake(addr, before); err != nil {
		t.Errorf("the renewed certificate: %v", err)
	}
	if err := before.VerifyConnection(state); err != nil {
		t.Errorf("the old certificate: %v", err)
	}

	for name, test := range map[string]struct {
		cert *tls.Certificate
		want string
	}{
		"of another CA": {sign(t, ca),
			"the certificate does not chain to its CA: x509: certificate signed by unknown authority"},
		"of another name": {sign(t, other, dnsNames("a.svc")), "the certificate does not cover evergate.evergate.svc, " +
			"the server name of clients: it covers a.svc"},
		"expired": {sign(t, other, dates(time.Unix(0, 0), time.Unix(1, 0))),
			"the certificate expired at 1970-01-01T00:00:01Z"},
	} {
		stranger := serve(t, &tls.Config{Certificates: []tls.Certificate{*test.cert}}, ok)
		_, err := handshake(stranger, source.ProbeConfig(nil))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}

	empty, _ := newVolumeSource(t, atomicdir.New(t), nil)
	if _, err := handshake(addr, empty.ProbeConfig(nil)); !errors.Is(err, errNone) {
		t.Errorf("before a certificate is loaded: %v", err)
	}
}
