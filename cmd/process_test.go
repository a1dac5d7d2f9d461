package cmd

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// argsVariable holds what TestMain runs as evergate, in place of the tests.
const argsVariable = "TEST_EVERGATE_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(argsVariable); args != "" {
		os.Exit(Run(context.Background(), strings.Split(args, "\n"), nil, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// process is an evergate with a process of its own.
type process struct {
	*exec.Cmd
	log io.ReadCloser
}

func start(t *testing.T, args ...string) process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), argsVariable+"="+strings.Join(args, "\n"))
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return process{c, log}
}

// ready reads the log until the process is ready, and returns where it serves reviews.
func (p process) ready(t *testing.T) (address string) {
	t.Helper()
	for lines := bufio.NewScanner(p.log); lines.Scan(); {
		var line struct{ Msg, To, Address string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		if line.Msg == "phase changed" && line.To == "listening" {
			address = line.Address
		}
		if line.To == "ready" {
			return address
		}
	}
	t.Fatal("it was never ready")
	return ""
}

// Whoever reads the log may go: the process serves, and drains, without it.
func TestNobodyReadsTheLog(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	p := start(t, "serve", "--dev", "--dev-ca", ca, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	url := "https://" + p.ready(t) + "/validate/pods"
	if err := p.log.Close(); err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	for range 3 { // each is logged
		resp, err := client.Post(url, "text/plain", bytes.NewReader(nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
