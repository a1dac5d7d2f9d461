package cmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evergate/evergate/certs"
)

// argsVariable contains the arguments with which TestMain runs evergate instead of the tests.
const argsVariable = "TEST_EVERGATE_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(argsVariable); args != "" {
		os.Exit(Run(context.Background(), strings.Split(args, "\n"), nil, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// process is an evergate that runs in a separate process.
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

// ready reads the log until the process is ready, and returns the address for reviews. It fails with the last lines
// of the log if this takes longer than on any machine.
func (p process) ready(t *testing.T) (address string) {
	t.Helper()
	var last []string
	late := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
	defer func() {
		if !late.Stop() {
			t.Logf("killed after a minute, and had logged\n%s", strings.Join(last, "\n"))
		}
	}()
	for lines := bufio.NewScanner(p.log); lines.Scan(); {
		last = append(last[max(0, len(last)-9):], lines.Text())
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

// startDev starts evergate serve --dev. It returns the address for reviews and a TLS configuration when the process
// is ready.
func startDev(t *testing.T, args ...string) (p process, address string, client *tls.Config) {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	p = start(t, append([]string{
		"serve", "--dev", "--dev-ca", ca, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
	}, args...)...)
	address = p.ready(t)
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return p, address, &tls.Config{RootCAs: roots, ServerName: "localhost"}
}

// terminate drains the process, which must end without an error.
func (p process) terminate(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// The process serves and drains after the reader of its log has disappeared.
func TestLogWithoutReader(t *testing.T) {
	p, address, config := startDev(t)
	if err := p.log.Close(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	for range 3 { // each is logged
		resp, err := client.Post("https://"+address+"/validate/pods", "text/plain", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	client.CloseIdleConnections()
	p.terminate(t)
}

// A client without a certificate does not get a decision on any path.
func TestNoWayAroundClientAuthentication(t *testing.T) {
	review := exampleReview(t, "pod")
	anyCA := filepath.Join(t.TempDir(), "clients.crt")
	dev, err := certs.NewDev(nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.WriteCA(anyCA); err != nil {
		t.Fatal(err)
	}
	p, address, config := startDev(t, "--client-ca-file", anyCA)
	for request, want := range map[string]int{
		"GET /readyz": 200, // not a review
		"GET /livez":  200,

		"POST /mutate/pods":                                       401,
		"POST /mutate/pods?x=/readyz":                             401,
		"POST https://localhost/mutate/pods":                      401,
		"POST /self-probe/mutate/pods":                            404,
		"POST /self-probe/AAAAAAAAAAAAAAAAAAAAAAAAAA/mutate/pods": 404,
		"POST /mutate/pods/":                                      404,
		"POST //mutate/pods":                                      404,
		"POST /Mutate/Pods":                                       404,
		"POST /%6dutate/pods":                                     404,
		"POST /mutate%2fpods":                                     404,
		"POST /readyz/../mutate/pods":                             404,
		"POST /readyz%2f..%2fmutate/pods":                         404,
		"POST /mutate/pods;/readyz":                               404,
		"POST *":                                                  404,
		"POST /readyz":                                            405,
		"GET /mutate/pods\r\nX-HTTP-Method-Override: POST":        405,
		"OPTIONS *":                                               404,
		"CONNECT localhost:443":                                   404,
		"BREW /mutate/pods":                                       405,
	} {
		t.Run(request, func(t *testing.T) {
			conn, err := tls.Dial("tcp", address, config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			line, header, _ := strings.Cut(request, "\r\n")
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", line, cmp.Or(header, "X: y"), len(review), review)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != want || bytes.Contains(body, []byte("AdmissionReview")) {
				t.Errorf("got %s %s, want %d", resp.Status, body, want)
			}
		})
	}
	p.terminate(t)
}
