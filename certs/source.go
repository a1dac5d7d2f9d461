// Package certs keeps the serving certificate up to date, authenticates clients by their certificates, and creates the
// development certificate. The only other Evergate package that it imports is internal/reload.
//
// A Source follows the files of a mounted Secret, for example a Secret from cert-manager. A renewed certificate is
// served from the next handshake on. Open connections stay open, because the certificate matters only during a
// handshake. A certificate that clients would reject is not loaded, and the last good certificate stays active.
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

// Files contains the paths of the serving certificate and the requirements that it must meet.
type Files struct {
	Cert string // PEM: the certificate, then its intermediates
	Key  string // PEM

	// CA is a file with the PEM of the CAs that the certificate must chain to. CA may be empty, and the file may be
	// absent or blank, because not every issuer publishes its CA. In these cases, only the API server checks the chain.
	CA string

	// ServerName is the DNS name that clients connect to, <service>.<namespace>.svc. The certificate must cover it. If
	// it is empty, the name is not checked.
	ServerName string
}

// Observer receives the results of loading certificates, for metrics. Its methods must be safe for concurrent use.
type Observer interface {
	// CertificateLoaded is called when a certificate or a bundle becomes active.
	CertificateLoaded(use Use, notAfter time.Time)
	// CertificateLoadFailed is called when files fail to load, once for each content and reason, and also while Wait waits
	// for the first certificate.
	CertificateLoadFailed(use Use)
}

// Use is the purpose of a certificate.
type Use string

// The uses of certificates.
const (
	Serving  Use = "serving"
	ClientCA Use = "client-ca"
)

// Source holds the active serving certificate. Call Wait first and then Run, from one goroutine at a time. All other
// methods are safe for concurrent use at any time.
type Source struct {
	files    Files
	log      *slog.Logger
	observer Observer
	value    reload.Value[pair]
}

// NewSource returns a Source of files. It does not read them; Wait does. The observer may be nil.
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
		Read: read, Build: s.build, Loaded: s.loaded, Failed: s.loadFailed,
		Recheck: true, // a certificate that is not valid yet becomes valid later
	}
	return s
}

// Wait waits until a valid certificate is loaded. If ctx ends first, the error contains the reason.
func (s *Source) Wait(ctx context.Context) error {
	if err := s.value.Wait(ctx); err != nil {
		return fmt.Errorf("there is no serving certificate: %w", err)
	}
	return nil
}

// Run reads the files again at each interval and loads changes, until ctx ends.
func (s *Source) Run(ctx context.Context, interval time.Duration) { s.value.Run(ctx, interval) }

var errNone = errors.New("there is no serving certificate yet")

// GetCertificate is for use in tls.Config. It returns the same certificate for every server name.
func (s *Source) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p := s.value.Current()
	if p == nil {
		return nil, errNone
	}
	return p.cert, nil
}

// Err returns an error if there is no active certificate or if it has expired, and nil otherwise.
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
		if p.cas, err = Parse(ca); err != nil {
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
		msg = "the files contain the active serving certificate"
	default:
		msg = "serving certificate renewed"
	}
	s.log.Info(msg, "not_after", stamp(leaf.NotAfter), "names", names(leaf), "issuer", leaf.Issuer.String(),
		"serial", leaf.SerialNumber.Text(16), "key", leaf.PublicKeyAlgorithm.String())
	s.observer.CertificateLoaded(Serving, leaf.NotAfter)
}

func (s *Source) loadFailed(err error) {
	if p := s.value.Current(); p == nil {
		s.log.Warn("waiting for a serving certificate", "error", err)
	} else {
		s.log.Error("serving certificate failed to load: the last good one stays active", "error", err,
			"not_after", stamp(p.cert.Leaf.NotAfter))
	}
	s.observer.CertificateLoadFailed(Serving)
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
func (nop) CertificateLoadFailed(Use)        {}
