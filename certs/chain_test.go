package certs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The certificates of API servers are accepted, whatever their CA is. Certificates that need much memory are not.
func TestClientChainIsBounded(t *testing.T) {
	large, err := rsa.GenerateKey(rand.Reader, 4096)
	must(t, err)
	honest := rsaCertificate(t, large, &x509.Certificate{
		Subject:  pkix.Name{CommonName: "kube-apiserver", Organization: []string{"system:masters"}},
		DNSNames: []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc"},
	})
	costly := &x509.Certificate{}
	for range 1000 {
		costly.URIs = append(costly.URIs, &url.URL{Scheme: "a", Host: "b"})
	}
	for _, test := range []struct {
		name  string
		chain [][]byte
		want  string
	}{
		{"none", nil, ""},
		{"one", repeat(honest, 1), ""},
		{"three", repeat(honest, 3), ""},
		{"six", repeat(honest, 6), ""},
		{"seven", repeat(honest, 7), "the client presents 7 certificates, at most 6 are accepted"},
		{"one that takes much memory", repeat(rsaCertificate(t, large, costly), 1),
			"the client's certificates take 160 KiB of memory, at most 64 are accepted"},
		{"names by the thousand", repeat(rsaCertificate(t, large, &x509.Certificate{
			DNSNames: strings.Split(strings.Repeat("a,", 3999)+"a", ","),
		}), 1), "the client's certificates take 81 KiB of memory, at most 64 are accepted"},
		{"four that together take much memory", repeat(rsaCertificate(t, large, &x509.Certificate{
			DNSNames: strings.Split(strings.Repeat("a,", 999)+"a", ","),
		}), 4), "the client's certificates take 91 KiB of memory, at most 64 are accepted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := presentChain(t, tls.Certificate{Certificate: test.chain, PrivateKey: large})
			if got := fmt.Sprint(err); got != test.want && (err != nil || test.want != "") {
				t.Errorf("the handshake ended with %q, want %q", got, test.want)
			}
		})
	}
}

// Stapled data is kept in memory as well.
func TestStaplesAreBounded(t *testing.T) {
	const most = 64 << 10
	for name, state := range map[string]func(n int) tls.ConnectionState{
		"OCSP": func(n int) tls.ConnectionState { return tls.ConnectionState{OCSPResponse: make([]byte, n)} },
		"SCT": func(n int) tls.ConnectionState {
			return tls.ConnectionState{SignedCertificateTimestamps: [][]byte{make([]byte, n/2), make([]byte, n-n/2)}}
		},
	} {
		if err := checkChain(state(most)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if checkChain(state(most+1)) == nil {
			t.Errorf("%s: %d bytes are accepted", name, most+1)
		}
	}
}

// presentChain returns why a server that authenticates clients ended a handshake.
func presentChain(t *testing.T, presented tls.Certificate) error {
	t.Helper()
	ca := newCA(t, "ca", nil)
	config := ServerConfig(nil, tls.VersionTLS13, &ClientAuth{})
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return sign(t, ca), nil }
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		conn := tls.Client(client, &tls.Config{
			InsecureSkipVerify: true, //nolint:gosec // this test is about the client's certificate
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &presented, nil
			},
		})
		_ = conn.HandshakeContext(t.Context())
		_, _ = conn.Read(make([]byte, 1)) // the server's alert; a pipe must be read
	}()
	defer server.Close()
	return tls.Server(server, config).HandshakeContext(t.Context())
}

func rsaCertificate(t *testing.T, key *rsa.PrivateKey, template *x509.Certificate) []byte {
	t.Helper()
	template.SerialNumber, template.NotAfter = big.NewInt(1), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return der
}

func repeat(der []byte, n int) (chain [][]byte) {
	for range n {
		chain = append(chain, der)
	}
	return chain
}

// For every kind of key and field, the result of sizeOf is close to the actual memory: the sum of the memory of its
// lists, strings and keys.
func TestSizeOfCertificate(t *testing.T) {
	parse := func(template *x509.Certificate) int {
		c, err := issue(template, nil)
		must(t, err)
		return sizeOf(c.Leaf)
	}
	plain := parse(&x509.Certificate{})
	oid := append([]int{1, 2}, make([]int, 1000)...)
	for name, test := range map[string]struct {
		template x509.Certificate
		least    int
	}{
		"arcs":      {x509.Certificate{ExtraExtensions: []pkix.Extension{{Id: oid}}}, 8 * 1000},
		"names":     {x509.Certificate{DNSNames: strings.Split(strings.Repeat("a,", 999)+"a", ",")}, 17 * 1000},
		"uris":      {x509.Certificate{URIs: []*url.URL{{Scheme: "a", Host: "b"}}}, 100},
		"addresses": {x509.Certificate{IPAddresses: []net.IP{net.IPv4zero, net.IPv4zero}}, 2 * 24},
	} {
		if more := parse(&test.template) - plain; more < test.least {
			t.Errorf("%s: %d bytes more than a plain certificate, want at least %d", name, more, test.least)
		}
	}
	if plain > 4<<10 {
		t.Errorf("the reported size of a plain certificate is %d bytes", plain)
	}
}
