package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/evergate/evergate/review/reviewtest/costliest"
)

// rig contains the files that servers need: programs, policies and a certificate, in a temporary directory.
type rig struct {
	dir   string
	roots *x509.CertPool // of the client
}

// prepare writes the files and builds the programs, except for the peer.
func (r *rig) prepare(ctx context.Context) error {
	// No handshake is measured, so the certificate of package httptest is good enough.
	https := httptest.NewTLSServer(nil)
	https.Close()
	r.roots.AddCert(https.Certificate())
	key, err := x509.MarshalPKCS8PrivateKey(https.TLS.Certificates[0].PrivateKey)
	for name, text := range map[string]string{
		"tls.crt":      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: https.Certificate().Raw})),
		"tls.key":      string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		"example.yaml": examplePolicy(), "many.yaml": manyPolicy(), "owned.yaml": ownedPolicy(),
		"one.yaml": costliest.One(), "ten.yaml": costliest.Ten(), "regexes.yaml": regexPolicy(),
	} {
		err = errors.Join(err, os.WriteFile(r.path(name), []byte(text), 0o600))
	}
	return errors.Join(err, r.build(ctx, "evergate"), r.build(ctx, "floor"))
}

// build builds a program, with the flags of make build and the Dockerfile.
func (r *rig) build(ctx context.Context, name string) error {
	source := map[string]string{"evergate": "../..", "floor": "floor", "peer": "../../e2e/peer"}[name]
	c := exec.CommandContext(ctx, "go", "build", "-C", source, "-trimpath", "-tags", "grpcnotrace,nethttpomithttp2",
		"-ldflags", "-s -w", "-o", r.path(name), ".")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

// client returns a client with the settings of kube-apiserver's webhook client (k8s.io/apiserver/pkg/util/webhook,
// client-go transport/cache.go): HTTP/1.1, and 25 idle connections that it closes after 90 s. It does not have a
// session cache, so each new connection is a full handshake.
func (r *rig) client() *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     90 * time.Second,
	}}
}

// servers starts a server for each name: the floor, the peer, or evergate with the policy of this name. stop stops the
// servers.
func (r *rig) servers(ctx context.Context, names ...string) (all map[string]*server, stop func(), err error) {
	all = map[string]*server{}
	client := r.client()
	stop = func() {
		for _, s := range all {
			s.stop()
		}
	}
	for _, name := range names {
		args := []string{"--tls-cert", r.path("tls.crt"), "--tls-key", r.path("tls.key")}
		program := name
		if name != "floor" && name != "peer" {
			program = "evergate"
			args = append([]string{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--log-format", "json",
				"--policy", r.path(name + ".yaml")}, args...) // all other settings have their default values
		}
		s, err := start(ctx, name, r.path(program), args)
		if err != nil {
			stop()
			return nil, nil, err
		}
		s.client = client
		all[name] = s
	}
	return all, stop, nil
}

// machine describes the machine of the measurement.
func machine() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // the model is empty without it
	_, rest, _ := strings.Cut(string(info), "model name")
	model, _, _ := strings.Cut(strings.TrimLeft(rest, "\t :"), "\n")
	return fmt.Sprintf("%s, %s/%s, %s, %d cores", runtime.Version(), runtime.GOOS, runtime.GOARCH, model, runtime.NumCPU())
}
