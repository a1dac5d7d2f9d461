package deploy

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// serve accepts connections on a loopback address until the test ends.
func serve(t *testing.T, leaf *x509.Certificate, key *ecdsa.PrivateKey, auth tls.ClientAuthType) string {
	t.Helper()
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}},
		ClientAuth:   auth,
	}
	if auth != tls.NoClientCert {
		config.MaxVersion = tls.VersionTLS12 // the handshake fails; in 1.3, the first read after it fails
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.(*tls.Conn).Handshake() //nolint:errcheck // the client reports the result
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return listener.Addr().String()
}

// TestServedNow checks that the check uses the certificate that a Service serves and not the one in its Secret.
func TestServedNow(t *testing.T) {
	other := newAuthority("other-ca")
	for _, tt := range []struct {
		name          string
		before, after int
		auth          tls.ClientAuthType
		want          string // the findings of one webhook
	}{
		{
			"signed by another CA", 30, 60, tls.NoClientCert,
			"served-chain MutatingWebhookConfiguration evergate, webhooks pods.mutate.evergate.dev, " +
				"again.pods.mutate.evergate.dev: its caBundle does not " +
				"verify the certificate that the Service serves: the certificate does not chain to its CA: x509: certificate " +
				"signed by unknown authority",
		},
		{
			"only to clients with a certificate", 30, 60, tls.RequireAnyClientCert,
			"served-chain MutatingWebhookConfiguration evergate, webhooks pods.mutate.evergate.dev, " +
				"again.pods.mutate.evergate.dev: its caBundle does not " +
				"verify the certificate that the Service serves: the certificate does not chain to its CA: x509: certificate " +
				"signed by unknown authority",
		},
		{
			"expired", 91, -1, tls.NoClientCert,
			"certificate-expiry MutatingWebhookConfiguration evergate, webhook pods.mutate.evergate.dev: the certificate that " +
				"its Service serves is valid from 2026-08-02T12:00:00Z to 2026-10-31T12:00:00Z, and it is 2026-11-01T12:00:00Z",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			leaf, key, _ := other.issue(tt.before, tt.after, serviceName)
			chain, err := Dial(t.Context(), serve(t, leaf, key, tt.auth), serviceName)
			if err != nil {
				t.Fatal(err)
			}
			report, err := Check(readFixture(t).load(t, testCase{Live: true}).read(t), Options{Now: now, Served: chain})
			if err != nil {
				t.Fatal(err)
			}
			f := report.Findings[0]
			if diff := cmp.Diff(tt.want, fmt.Sprintf("%s %s: %s", f.ID, f.Object, f.Message)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDialNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Dial(t.Context(), address, serviceName)
	if err == nil || !strings.HasPrefix(err.Error(), "connect to "+address+": dial tcp ") {
		t.Error(err)
	}
}

func TestService(t *testing.T) {
	for _, tt := range []struct {
		name     string
		c        testCase
		dns, err string
		address  string
	}{
		{name: "manifests", dns: serviceName, address: serviceName + ":443"},
		{name: "live", c: testCase{Live: true}, dns: serviceName, address: "10.96.0.10:443"},
		{
			name: "none", c: testCase{Change: []change{
				{Remove: "MutatingWebhookConfiguration/evergate"}, {Remove: "ValidatingWebhookConfiguration/evergate"},
			}},
			err: "the input has a Deployment that runs evergate serve, but nothing calls it: no webhook configuration has the " +
				"label app.kubernetes.io/name=evergate, and no webhook is called *.evergate.dev",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dns, address, err := ServiceOf(readFixture(t).load(t, tt.c).read(t))
			if dns != tt.dns || address != tt.address || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
				t.Errorf("%s, %s, %v", dns, address, err)
			}
		})
	}
}
