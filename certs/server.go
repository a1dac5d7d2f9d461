package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/evergate/evergate/internal/text"
)

// ParseTLSVersion parses the lowest TLS version to accept: "1.3", or "1.2" for clients that need it.
func ParseTLSVersion(s string) (uint16, error) {
	switch s {
	case "1.3":
		return tls.VersionTLS13, nil
	case "1.2":
		return tls.VersionTLS12, nil
	}
	return 0, fmt.Errorf("unknown TLS version %s: use 1.3, or 1.2 for clients without 1.3", text.Quote(s))
}

// ServerConfig returns the TLS configuration of the serving port. If clients is nil, the server does not request client
// certificates. An http.Server adds HTTP/2 to the configuration unless its Protocols contain only HTTP/1.
func ServerConfig(source *Source, minVersion uint16, clients *ClientAuth) *tls.Config {
	config := &tls.Config{
		GetCertificate: source.GetCertificate,
		MinVersion:     minVersion,

		// HTTP/2 is not offered, because kube-apiserver does not use it for webhooks, and because all calls would share
		// one connection and fail together.
		NextProtos: []string{"http/1.1"},

		// Session tickets are disabled because kube-apiserver never resumes a session (client-go's transport has no
		// session cache), and only the replica that issued a ticket can use it. Tickets would only add CPU time to each
		// handshake.
		SessionTicketsDisabled: true,
	}
	if clients != nil {
		// The handshake requests a certificate but does not verify it. A failed handshake would fail probes too, and
		// could not send the reason. The handshake proves that the client has the key of its certificate, and
		// ClientAuth.Require verifies the certificate against the current CA bundle. ClientCAs is not set, because it
		// could not change while the server runs, and a client whose certificate is not from one of those CAs would not
		// send any and get a misleading error.
		config.ClientAuth = tls.RequestClientCert
		config.VerifyConnection = checkChain // limits the memory of certificates, verified or not
	}
	return config
}

// ProbeConfig returns the TLS configuration of the client side of a self-probe. The handshake fails if an API server's
// handshake would fail: if the presented certificate is expired or not valid yet, does not cover the server name, or
// does not chain to its CA. If clients is nil, the probe does not present a client certificate.
func (s *Source) ProbeConfig(clients *ClientAuth) *tls.Config {
	dialed := s.value.Current()
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: s.files.ServerName,

		// VerifyConnection replaces the verification that this skips, for two reasons. Without a CA file there is no
		// root to chain to. And a certificate that is renewed during the handshake must not look like a broken chain.
		InsecureSkipVerify: true, //nolint:gosec // verified below
		VerifyConnection: func(state tls.ConnectionState) error {
			return s.verifyPresented(state.PeerCertificates, dialed, s.value.Current())
		},
	}
	if clients != nil {
		config.Certificates = []tls.Certificate{clients.probe}
	}
	return config
}

// verifyPresented verifies a chain against each of the pairs that were active during the handshake. It returns nil if
// any of these pairs accepts it.
func (s *Source) verifyPresented(chain []*x509.Certificate, inForce ...*pair) error {
	err := errNone
	for _, p := range inForce {
		if p == nil {
			continue
		}
		if err = p.verify(chain, s.files.ServerName, time.Now()); err == nil {
			break
		}
	}
	return err
}
