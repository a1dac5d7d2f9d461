package deploy

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/deploy/install"
)

// Dial returns the certificate chain that the server at an address (host:port) serves for a DNS name, leaf first. It
// does not verify the chain, because the checks do. If a server requires a client certificate, it may close the
// connection after it has sent its chain. Dial then still returns the chain.
func Dial(ctx context.Context, address, dnsName string) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	dialer := tls.Dialer{Config: &tls.Config{
		ServerName: dnsName,
		// Dial does not send any data. chain verifies the chain against the caBundle.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection: func(s tls.ConnectionState) error {
			chain = s.PeerCertificates
			return nil
		},
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		err = conn.Close()
	}
	switch {
	case len(chain) > 0:
		return chain, nil
	case err == nil:
		err = errors.New("it did not send a certificate")
	}
	return nil, fmt.Errorf("connect to %s: %w", address, err)
}

// ServiceOf returns the target of the API server's calls: the DNS name that the certificate has to contain, and the
// address to dial, which is the cluster IP if it is known.
func ServiceOf(objects *install.Objects) (dnsName, address string, err error) {
	joined, err := install.Join(objects)
	if err != nil {
		return "", "", err
	}
	for _, h := range joined.Hooks {
		if h.ClientConfig.Service == nil {
			continue
		}
		host := h.DNSName()
		if h.Called != nil && h.Called.Spec.ClusterIP != corev1.ClusterIPNone {
			host = cmp.Or(h.Called.Spec.ClusterIP, host)
		}
		return h.DNSName(), net.JoinHostPort(host, strconv.Itoa(int(h.Port()))), nil
	}
	return "", "", errors.New("no webhook of Evergate calls a Service")
}
