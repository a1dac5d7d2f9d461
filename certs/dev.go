package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/evergate/evergate/internal/reload"
)

const (
	// devLifetime is longer than any development server runs.
	devLifetime = 365 * 24 * time.Hour

	// devBackdate allows for a client whose clock is behind, for example in a virtual machine that was suspended.
	devBackdate = time.Hour
)

// Dev is a serving certificate for laptops and tests. Its key is never written to a file. NewDev discards the CA's key
// after signing, so a client that trusts the CA trusts only this certificate.
type Dev struct {
	ca   []byte
	cert []byte
	key  []byte
}

// NewDev creates a certificate for hosts, which are DNS names or IP addresses. It is valid for a year from now.
func NewDev(hosts []string, now time.Time) (*Dev, error) {
	valid := x509.Certificate{NotBefore: now.Add(-devBackdate), NotAfter: now.Add(devLifetime)}
	authority := valid
	authority.Subject = pkix.Name{CommonName: "evergate development CA"}
	authority.IsCA, authority.BasicConstraintsValid = true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	ca, err := issue(&authority, nil)
	if err != nil {
		return nil, err
	}
	server := valid
	server.Subject = pkix.Name{CommonName: "evergate development"}
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			server.IPAddresses = append(server.IPAddresses, ip)
		} else {
			server.DNSNames = append(server.DNSNames, host)
		}
	}
	leaf, err := issue(&server, ca)
	if err != nil {
		return nil, err
	}
	key, err := keyPEM(leaf)
	if err != nil {
		return nil, err
	}
	return &Dev{ca: certPEM(ca), cert: certPEM(leaf), key: key}, nil
}

// WriteCA writes the CA in PEM format to path, with permissions for everyone to read it. It replaces the file
// atomically, so readers never see part of the CA.
func (d *Dev) WriteCA(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".evergate-ca-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // the rename has moved it away, unless something failed
	if _, err = f.Write(d.ca); err == nil {
		err = f.Chmod(0o644) // CreateTemp allows only the owner to read the file
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Source returns a Source of this certificate, which never changes.
func (d *Dev) Source(log *slog.Logger, observer Observer) *Source {
	files := Files{Cert: "development certificate", Key: "its key", CA: "development CA"}
	read := func() ([]reload.File, error) {
		return []reload.File{
			{Name: files.Cert, Data: d.cert}, {Name: files.Key, Data: d.key}, {Name: files.CA, Data: d.ca},
		}, nil
	}
	return newSource(files, read, log, observer)
}

// issue creates a P-256 key and signs template with the key of parent. A handshake with a P-256 key costs the server a
// tenth of one with RSA. If parent is nil, the certificate is self-signed.
func issue(template *x509.Certificate, parent *tls.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.KeyUsage |= x509.KeyUsageDigitalSignature
	if parent == nil {
		parent = &tls.Certificate{Leaf: template, PrivateKey: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.Leaf, key.Public(), parent.PrivateKey)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func certPEM(c *tls.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Leaf.Raw})
}

func keyPEM(c *tls.Certificate) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
