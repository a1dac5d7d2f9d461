package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

// ParseTLSVersion reads the lowest TLS version that is served: "1.3", or "1.2" for clients that need it.
func ParseTLSVersion(s string) (uint16, error) {
	switch s {
	case "1.3":
		return tls.VersionTLS13, nil
	case "1.2":
		return tls.VersionTLS12, nil
	}
	return 0, fmt.Errorf("%q is not a TLS version that can be served: write 1.3, or 1.2 for clients without 1.3", s)
}

// ServerConfig is the TLS side of the serving port. clients is nil when clients are not authenticated. An http.Server
// adds HTTP/2 to it unless its Protocols are HTTP/1 alone.
func ServerConfig(source *Source, minVersion uint16, clients *ClientAuth) *tls.Config {
	config := &tls.Config{
		GetCertificate: source.GetCertificate,
		MinVersion:     minVersion,

		// No HTTP/2: kube-apiserver does not speak it to webhooks, and one connection for everything is one to lose.
		NextProtos: []string{"http/1.1"},

		// kube-apiserver resumes no session (client-go's transport has no session cache), and a ticket is good only at
		// the replica that wrote it: tickets would cost each handshake some CPU for nothing.
		SessionTicketsDisabled: true,
	}
	if clients != nil {
		// The handshake requests a certificate and does not verify it: a handshake that fails would fail probes too,
		// and could not say why. ClientAuth.Require verifies it against the CA bundle of that moment; the handshake has
		// proved that the client holds its key. No ClientCAs: they would be fixed for the life of the server, and a
		// client whose CA is not among them would send no certificate and get the error that it has to send one.
		config.ClientAuth = tls.RequestClientCert
		config.VerifyConnection = checkChain // bounds its cost, verified or not
	}
	return config
}

// ProbeConfig is the client side of one self-probe. The handshake fails if the API server's would: if what the listener
// presents is out of date, does not cover the server name or does not chain to its CA. clients is nil when clients are
// not authenticated.
func (s *Source) ProbeConfig(clients *ClientAuth) *tls.Config {
	dialed := s.value.Current()
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: s.files.ServerName,

		// VerifyConnection does what is skipped here, for two reasons: without a CA file there is nothing to chain
		// to, and a renewal in the middle of the handshake must not look like a broken chain.
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

// verifyPresented verifies a chain against any of the pairs that were in force during the handshake.
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
