package certs

import (
	"crypto/x509"
	"sync"
	"time"
)

// trust is one content of the CA file, and the clients that were verified against it. It remembers them since a
// verification costs more than a small review, and API servers use the same few certificates for months.
type trust struct {
	roots    *x509.CertPool
	size     int
	notAfter time.Time // of the CA that lasts longest

	mu       sync.Mutex
	verified map[*x509.Certificate]time.Time // until when
}

// maxVerified bounds what is remembered: some API servers, each with an old and a new certificate, and one parsed copy
// of it for every connection at worst.
const maxVerified = 1024

func newTrust(cas []*x509.Certificate) *trust {
	t := &trust{roots: pool(cas), size: len(cas), verified: map[*x509.Certificate]time.Time{}}
	for _, ca := range cas {
		if ca.NotAfter.After(t.notAfter) {
			t.notAfter = ca.NotAfter
		}
	}
	return t
}

// verify returns why the chain that a client presented is no client certificate of the CAs; nil if it is one.
func (t *trust) verify(presented []*x509.Certificate, now time.Time) error {
	leaf := presented[0]
	if now.Before(t.verifiedUntil(leaf)) {
		return nil
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: t.roots, Intermediates: pool(presented[1:]), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	t.remember(leaf, chains[0])
	return nil
}

func (t *trust) verifiedUntil(leaf *x509.Certificate) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.verified[leaf]
}

// remember keeps that leaf is good until the first certificate of its chain expires.
func (t *trust) remember(leaf *x509.Certificate, chain []*x509.Certificate) {
	until := leaf.NotAfter
	for _, c := range chain {
		if c.NotAfter.Before(until) {
			until = c.NotAfter
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.verified) >= maxVerified {
		clear(t.verified)
	}
	t.verified[leaf] = until
}
