package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/evergate/evergate/internal/logtest"
)

func TestDev(t *testing.T) {
	dev, err := NewDev([]string{"localhost", "127.0.0.1", "::1"}, time.Now())
	must(t, err)
	log, _ := logtest.New()
	source := dev.Source(log, nil)
	must(t, source.Wait(t.Context()))
	addr := serve(t, ServerConfig(source, tls.VersionTLS13, nil), ok)
	if _, err := handshake(addr, source.ProbeConfig(nil)); err != nil {
		t.Errorf("self-probe: %v", err)
	}

	path := filepath.Join(t.TempDir(), "ca.crt")
	must(t, os.WriteFile(path, []byte("of the last start"), 0o600))
	must(t, dev.WriteCA(path))
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
	pem, err := os.ReadFile(path)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		if _, err := handshake(addr, &tls.Config{RootCAs: roots, ServerName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := handshake(addr, &tls.Config{RootCAs: roots, ServerName: "example.com"}); err == nil {
		t.Error("it is not for example.com")
	}
	if err := dev.WriteCA(filepath.Join(path, "ca.crt")); err == nil {
		t.Error("a path below a file")
	} else if !errors.As(err, new(*fs.PathError)) {
		t.Errorf("the error must contain the path: %v", err)
	}
}
