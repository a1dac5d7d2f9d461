// Package certs keeps the serving certificate up to date, authenticates clients by their certificates, and makes the
// certificate of development. Of Evergate's own packages it needs internal/reload alone.
//
// A Source follows the files of a mounted Secret, as cert-manager fills it. A renewed certificate is served from the
// next handshake on; nothing is restarted and no connection is closed, since a certificate matters only while a
// connection is made. A certificate that clients would reject is refused and the last good one stays in force.
package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/evergate/evergate/internal/reload"
)

// Files says where the serving certificate is, and what it must be good for.
type Files struct {
	Cert string // PEM: the certificate, then its intermediates
	Key  string // PEM

	// CA holds the PEM of the CAs that the certificate must chain to. It may be empty, and the file may be absent or
	// blank: not every issuer publishes its CA. Then only the API server checks the chain.
	CA string

	// ServerName is the DNS name that clients ask for, <service>.<namespace>.svc. The certificate must cover it. Empty
	// means any.
	ServerName string
}

// Observer is called when certificates are loaded or refused, for metrics. Several goroutines may call it at once.
type Observer interface {
	// CertificateLoaded is called when a certificate, or a bundle of them, comes into force.
	CertificateLoaded(use Use, notAfter time.Time)
	// CertificateRefused is called when files are refused, once for each content and reason, and also while Wait waits
	// for the first certificate.
	CertificateRefused(use Use)
}

// Use says what a certificate is for.
type Use string

// The uses of certificates.
const (
	Serving  Use = "serving"
	ClientCA Use = "client-ca"
)

// Source holds the serving certificate in force. First Wait is called and then Run, by one goroutine at a time; all
// other methods may be called by any goroutine at any time.
type Source struct {
	files    Files
	log      *slog.Logger
	observer Observer
	value    reload.Value[pair]
}

// NewSource makes a Source of files. Nothing is read before Wait. The observer may be nil.
func NewSource(files Files, log *slog.Logger, observer Observer) *Source {
	paths := []string{files.Cert, files.Key}
	if files.CA != "" {
		paths = append(paths, files.CA)
	}
	read := func() ([]reload.File, error) { return reload.ReadFiles(paths...) }
	return newSource(files, read, log, observer)
}

func newSource(files Files, read func() ([]reload.File, error), log *slog.Logger, observer Observer) *Source {
	s := &Source{files: files, log: log, observer: orNop(observer)}
	s.value = reload.Value[pair]{
		Read: read, Build: s.build, Loaded: s.loaded, Refused: s.refused,
		Recheck: true, // a certificate that is not valid yet will be
	}
	return s
}

// Wait waits until there is a good certificate. When ctx ends first, the error says what is missing or wrong.
func (s *Source) Wait(ctx context.Context) error {
	if err := s.value.Wait(ctx); err != nil {
		return fmt.Errorf("there is no serving certificate: %w", err)
	}
	return nil
}

// Run follows the files, looking at them at an interval, until ctx ends.
func (s *Source) Run(ctx context.Context, interval time.Duration) { s.value.Run(ctx, interval) }

var errNone = errors.New("there is no serving certificate yet")

// GetCertificate is for tls.Config. Every name is answered with the one certificate there is.
func (s *Source) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p := s.value.Current()
	if p == nil {
		return nil, errNone
	}
	return p.cert, nil
}

// Err returns why the certificate in force cannot be used: there is none, or it has expired. It is nil otherwise.
func (s *Source) Err() error {
	p := s.value.Current()
	if p == nil {
		return errNone
	}
	if until := p.cert.Leaf.NotAfter; time.Now().After(until) {
		return fmt.Errorf("the serving certificate expired at %s", stamp(until))
	}
	return nil
}

func (s *Source) build(files []reload.File) (*pair, error) {
	pem := map[string][]byte{}
	for _, f := range files {
		pem[f.Name] = f.Data
	}
	var missing []string
	for _, path := range []string{s.files.Cert, s.files.Key} {
		if pem[path] == nil {
			missing = append(missing, path)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("missing: %s", strings.Join(missing, ", "))
	}
	cert, err := tls.X509KeyPair(pem[s.files.Cert], pem[s.files.Key])
	if err != nil {
		return nil, fmt.Errorf("%s and %s are not a key pair: %w", s.files.Cert, s.files.Key, err)
	}
	p := &pair{cert: &cert}
	if ca := bytes.TrimSpace(pem[s.files.CA]); len(ca) > 0 {
		if p.cas, err = parseCAs(ca); err != nil {
			return nil, fmt.Errorf("%s: %w", s.files.CA, err)
		}
		p.roots = pool(p.cas)
	}
	chain, err := parseChain(cert.Certificate)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.files.Cert, err)
	}
	return p, p.verify(chain, s.files.ServerName, time.Now())
}

func (s *Source) loaded(was, is *pair) {
	msg := "serving certificate loaded"
	leaf := is.cert.Leaf
	switch {
	case was == nil:
	case was.cert.Leaf.Equal(leaf):
		msg = "the files hold the serving certificate in force"
	default:
		msg = "serving certificate renewed"
	}
	s.log.Info(msg, "not_after", stamp(leaf.NotAfter), "names", names(leaf), "issuer", leaf.Issuer.String(),
		"serial", leaf.SerialNumber.Text(16), "key", leaf.PublicKeyAlgorithm.String())
	s.observer.CertificateLoaded(Serving, leaf.NotAfter)
}

func (s *Source) refused(err error) {
	if p := s.value.Current(); p == nil {
		s.log.Warn("waiting for a serving certificate", "error", err)
	} else {
		s.log.Error("serving certificate refused: the last good one stays in force", "error", err,
			"not_after", stamp(p.cert.Leaf.NotAfter))
	}
	s.observer.CertificateRefused(Serving)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func orNop(o Observer) Observer {
	if o == nil {
		return nop{}
	}
	return o
}

type nop struct{}

func (nop) CertificateLoaded(Use, time.Time) {}
func (nop) CertificateRefused(Use)           {}
