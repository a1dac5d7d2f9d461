package certs

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// pair is a serving certificate with its key, and the CAs that it was found to chain to.
type pair struct {
	cert  *tls.Certificate
	cas   []*x509.Certificate
	roots *x509.CertPool // of cas; nil: not known
}

// verify returns why a client of serverName would reject chain, the leaf first; nil if it would not.
func (p *pair) verify(chain []*x509.Certificate, serverName string, now time.Time) error {
	leaf := chain[0]
	switch reason := outOfDate(leaf, now); {
	case reason != "":
		return fmt.Errorf("the certificate %s", reason)
	case !forServers(leaf):
		return errors.New("the certificate is not for servers: its extended key usages lack server authentication")
	case serverName != "" && leaf.VerifyHostname(serverName) != nil:
		return fmt.Errorf("the certificate does not cover %s, the name that clients ask for: it covers %s",
			serverName, cmp.Or(strings.Join(names(leaf), ", "), "no name at all"))
	case p.roots == nil:
		return nil
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: p.roots, Intermediates: pool(chain[1:]), CurrentTime: now})
	if err == nil {
		return nil
	}
	// The error of package x509 holds the current time, so that one lasting fault would look like a new one at each
	// poll.
	for _, ca := range slices.Concat(chain[1:], p.cas) {
		if reason := outOfDate(ca, now); reason != "" {
			return fmt.Errorf("the certificate does not chain to its CA: %s %s", ca.Subject, reason)
		}
	}
	return fmt.Errorf("the certificate does not chain to its CA: %w", err)
}

// outOfDate returns why c is not valid now by its dates; "" if it is.
func outOfDate(c *x509.Certificate, now time.Time) string {
	switch {
	case now.After(c.NotAfter):
		return "expired at " + stamp(c.NotAfter)
	case now.Before(c.NotBefore):
		return "is not valid before " + stamp(c.NotBefore)
	}
	return ""
}

// forServers reports whether TLS clients accept leaf from a server. Without extended key usages it is good for all.
func forServers(leaf *x509.Certificate) bool {
	if len(leaf.ExtKeyUsage)+len(leaf.UnknownExtKeyUsage) == 0 {
		return true
	}
	return slices.ContainsFunc(leaf.ExtKeyUsage, func(u x509.ExtKeyUsage) bool {
		return u == x509.ExtKeyUsageServerAuth || u == x509.ExtKeyUsageAny
	})
}

// names lists the names that leaf covers. The common name is not among them: TLS clients ignore it.
func names(leaf *x509.Certificate) []string {
	list := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		list = append(list, ip.String())
	}
	return list
}

func parseChain(ders [][]byte) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for _, der := range ders {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	return chain, nil
}

// parseCAs reads a bundle. Unlike x509.CertPool it refuses a bundle with a certificate that cannot be parsed: clients
// that are verified against that one would be locked out without any error.
func parseCAs(bundle []byte) ([]*x509.Certificate, error) {
	begun := bytes.Count(bundle, []byte("-----BEGIN CERTIFICATE-----"))
	var ders [][]byte
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			ders = append(ders, block.Bytes)
		}
	}
	switch {
	case begun == 0:
		return nil, errors.New("there is no PEM certificate in it")
	case begun != len(ders):
		return nil, fmt.Errorf("%d PEM certificates begin in it and %d are whole", begun, len(ders))
	}
	return parseChain(ders)
}

func pool(certs []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certs {
		p.AddCert(c)
	}
	return p
}
