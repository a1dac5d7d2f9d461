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
)

// Dial returns the certificate chain that the server at an address (host:port) serves for a DNS name, leaf first. It
// does not verify the chain, because the checks do. If a server requires a client certificate, it may close the
// connection after it has sent its chain. Dial then still returns the chain.
func Dial(ctx context.Context, address, dnsName string) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	dialer := tls.Dialer{Config: &tls.Config{
		ServerName: dnsName,
		// Dial does not send any data. The check servedChain verifies the chain against the caBundle.
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

// Service returns the target of the API server's calls: the DNS name that the certificate has to contain, and the
// address to dial, which is the cluster IP if it is known.
func (inv *Inventory) Service() (dnsName, address string, err error) {
	for _, h := range newHooks(inv) {
		s := h.ClientConfig.Service
		if !h.ours || s == nil {
			continue
		}
		host := h.dnsName()
		if svc := find(inv.services, s.Namespace, s.Name); svc != nil && svc.Spec.ClusterIP != corev1.ClusterIPNone {
			host = cmp.Or(svc.Spec.ClusterIP, host)
		}
		return h.dnsName(), net.JoinHostPort(host, strconv.Itoa(int(h.servicePort()))), nil
	}
	return "", "", errors.New("no webhook of Evergate calls a Service")
}
