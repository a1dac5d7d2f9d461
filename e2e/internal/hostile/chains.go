package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/url"
	"time"
)

// LongChain returns a client certificate from an unknown issuer, followed by more certificates until the chain has size
// bytes.
func LongChain(size int) (tls.Certificate, error) {
	c, err := selfSigned(&x509.Certificate{})
	if err != nil {
		return c, err
	}
	one := c.Certificate[0]
	for n := 2 * len(one); n <= size; n += len(one) + 5 { // its length, and the length of its extensions
		c.Certificate = append(c.Certificate, one)
	}
	return c, nil
}

// CostlyCertificate returns a client certificate from an unknown issuer. It contains many URIs, which take 23 times as
// much memory as bytes on the wire.
func CostlyCertificate(uris int) (tls.Certificate, error) {
	template := &x509.Certificate{}
	for range uris {
		template.URIs = append(template.URIs, &url.URL{Scheme: "a", Host: "b"})
	}
	return selfSigned(template)
}

func selfSigned(template *x509.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template.SerialNumber, template.Subject = big.NewInt(1), pkix.Name{CommonName: "unknown"}
	template.NotAfter = time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
