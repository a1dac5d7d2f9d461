package certs

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/atomicdir"
	"github.com/evergate/evergate/internal/logtest"
)

const serviceName = "evergate.evergate.svc"

const day = 24 * time.Hour

// edit changes a template before it is signed.
type edit func(*x509.Certificate)

func dates(from, to time.Time) edit {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, to }
}

func dnsNames(names ...string) edit { return func(c *x509.Certificate) { c.DNSNames = names } }

func usages(u ...x509.ExtKeyUsage) edit { return func(c *x509.Certificate) { c.ExtKeyUsage = u } }

func commonName(name string) edit {
	return func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: name} }
}

func newCA(t *testing.T, name string, parent *tls.Certificate, edits ...edit) *tls.Certificate {
	t.Helper()
	return sign(t, parent, append([]edit{commonName(name), func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
		c.DNSNames, c.ExtKeyUsage = nil, nil
		c.NotAfter = time.Now().Add(3650 * day)
	}}, edits...)...)
}

// sign creates a serving certificate for the Service like cert-manager, changed by the edits.
func sign(t *testing.T, ca *tls.Certificate, edits ...edit) *tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		DNSNames: []string{serviceName}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * day),
	}
	for _, e := range edits {
		e(template)
	}
	cert, err := issue(template, ca)
	must(t, err)
	return cert
}

func keyText(t *testing.T, c *tls.Certificate) string {
	t.Helper()
	key, err := keyPEM(c)
	must(t, err)
	return string(key)
}

// secret returns the keys of cert-manager's Secret.
func secret(t *testing.T, cert, ca *tls.Certificate) map[string]string {
	t.Helper()
	return map[string]string{"tls.crt": string(certPEM(cert)), "tls.key": keyText(t, cert), "ca.crt": string(certPEM(ca))}
}

// filesIn returns the paths in a mounted Secret.
func filesIn(volume *atomicdir.Dir) Files {
	return Files{
		Cert: volume.Path("tls.crt"), Key: volume.Path("tls.key"), CA: volume.Path("ca.crt"), ServerName: serviceName,
	}
}

// newVolumeSource returns a Source of a mounted Secret that contains cert.
func newVolumeSource(t *testing.T, volume *atomicdir.Dir, observer Observer) (*Source, *logtest.Recorder) {
	t.Helper()
	log, lines := logtest.New()
	return NewSource(filesIn(volume), log, observer), lines
}

// expectLog compares the log with the expected lines, with the volume's path replaced by SECRET.
func expectLog(t *testing.T, log *logtest.Recorder, volume *atomicdir.Dir, want ...string) {
	t.Helper()
	var got []string
	for _, line := range log.Take() {
		got = append(got, strings.ReplaceAll(line, volume.Path(), "SECRET"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log: %s", diff)
	}
}

// metrics counts the calls of an Observer.
type metrics struct {
	mu             sync.Mutex
	loaded, failed map[Use]int
	notAfter       time.Time
}

func (m *metrics) CertificateLoaded(use Use, notAfter time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded == nil {
		m.loaded = map[Use]int{}
	}
	m.loaded[use]++
	m.notAfter = notAfter
}

func (m *metrics) CertificateLoadFailed(use Use) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == nil {
		m.failed = map[Use]int{}
	}
	m.failed[use]++
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
