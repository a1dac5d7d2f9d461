package certs

import (
	"crypto/x509"
	"sync"
	"time"
)

// trust is one content of the CA file, together with the clients that were verified against it. It caches them because
// a verification costs more than a small review, and API servers use the same few certificates for months.
type trust struct {
	roots    *x509.CertPool
	size     int
	notAfter time.Time // of the CA that expires last

	mu       sync.Mutex
	verified map[*x509.Certificate]time.Time // the time until which each is valid
}

// maxVerified limits the cache. It is enough for several API servers that each have an old and a new certificate, with
// a separate parsed copy for every connection in the worst case.
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

// verify returns why the client CAs do not accept the presented chain as a client certificate, or nil if they do.
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

// remember caches leaf as verified until the first certificate of its chain expires.
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
