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

// pair is a serving certificate with its key, and the CAs that it chains to.
type pair struct {
	cert  *tls.Certificate
	cas   []*x509.Certificate
	roots *x509.CertPool // of cas; nil if the CAs are not known
}

// verify returns the reason that a client of serverName would reject chain, which starts with the leaf. It returns nil
// if the client would accept it.
func (p *pair) verify(chain []*x509.Certificate, serverName string, now time.Time) error {
	leaf := chain[0]
	switch reason := outOfDate(leaf, now); {
	case reason != "":
		return fmt.Errorf("the certificate %s", reason)
	case !forServers(leaf):
		return errors.New("the certificate is not for servers: its extended key usages lack server authentication")
	case serverName != "" && leaf.VerifyHostname(serverName) != nil:
		return fmt.Errorf("the certificate does not cover %s, the server name of clients: it covers %s",
			serverName, cmp.Or(strings.Join(names(leaf), ", "), "no name at all"))
	case p.roots == nil:
		return nil
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: p.roots, Intermediates: pool(chain[1:]), CurrentTime: now})
	if err == nil {
		return nil
	}
	// The error of package x509 contains the current time, so one lasting fault would look like a new fault at each
	// poll.
	for _, ca := range slices.Concat(chain[1:], p.cas) {
		if reason := outOfDate(ca, now); reason != "" {
			return fmt.Errorf("the certificate does not chain to its CA: %s %s", ca.Subject, reason)
		}
	}
	return fmt.Errorf("the certificate does not chain to its CA: %w", err)
}

// Verify returns the reason that a client that trusts only the CAs in bundle would reject chain as the certificate of
// serverName at a time. chain starts with the leaf. Verify returns nil if the client would accept it.
func Verify(chain []*x509.Certificate, bundle []byte, serverName string, now time.Time) error {
	cas, err := Parse(bundle)
	if err != nil {
		return fmt.Errorf("cannot read the CA: %w", err)
	}
	return (&pair{cas: cas, roots: pool(cas)}).verify(chain, serverName, now)
}

// outOfDate returns why c is outside its validity period at now, or "" if it is inside.
func outOfDate(c *x509.Certificate, now time.Time) string {
	switch {
	case now.After(c.NotAfter):
		return "expired at " + stamp(c.NotAfter)
	case now.Before(c.NotBefore):
		return "is not valid before " + stamp(c.NotBefore)
	}
	return ""
}

// forServers reports whether TLS clients accept leaf as a server certificate. A certificate without extended key usages
// may be used for everything.
func forServers(leaf *x509.Certificate) bool {
	if len(leaf.ExtKeyUsage)+len(leaf.UnknownExtKeyUsage) == 0 {
		return true
	}
	return slices.ContainsFunc(leaf.ExtKeyUsage, func(u x509.ExtKeyUsage) bool {
		return u == x509.ExtKeyUsageServerAuth || u == x509.ExtKeyUsageAny
	})
}

// names returns the names that leaf covers. It leaves out the common name, which TLS clients ignore.
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

// Parse returns the certificates in a PEM bundle. Unlike x509.CertPool, it returns an error if a certificate in the
// bundle cannot be parsed. Clients that depend on that certificate would otherwise be locked out without any error.
func Parse(bundle []byte) ([]*x509.Certificate, error) {
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
		return nil, fmt.Errorf("it contains the start of %d PEM certificates, and only %d are complete", begun, len(ders))
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
