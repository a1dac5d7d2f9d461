// Package registry runs a private registry with TLS and one user. It is the version of distribution that
// tools/rig/registry pins. Every request without this user's login gets 401.
package registry

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/crypto/bcrypt"

	"github.com/evergate/evergate/e2e/internal/pki"
)

// Registry is a running registry.
type Registry struct {
	Host           string // the CA that signed its certificate, in PEM
	CA             []byte // the only login
	User, Password string // the only login

	client *http.Client
	cmd    *exec.Cmd
	ended  chan struct{}

	mu       sync.Mutex
	log      []string
	requests []Request
	more     chan struct{} // closed when there are more requests
}

// Request is an answered request, from the registry's log.
type Request struct {
	From         string // the address of the client
	Method, Path string
	User         string // the authenticated user; empty if the login failed
	Status       int
}

// String returns the request in the form of an access log.
func (r Request) String() string {
	user := r.User
	if user == "" {
		user = "-"
	}
	return fmt.Sprintf("%s %s %s %s %d", r.From, user, r.Method, r.Path, r.Status)
}

// Start runs the binary until ctx ends, on the address ip and a port that the kernel chooses, and returns when it
// listens. Keys, configuration and blobs are in dir. If Start fails, the process still ends with ctx.
func Start(ctx context.Context, binary, dir, ip string) (*Registry, error) {
	r := &Registry{User: "puller", Password: rand.Text(), ended: make(chan struct{}), more: make(chan struct{})}
	config, err := r.configure(dir, ip)
	if err != nil {
		return nil, fmt.Errorf("configure a registry: %w", err)
	}
	r.cmd = exec.CommandContext(ctx, binary, "serve", config)
	r.cmd.Env = []string{"OTEL_TRACES_EXPORTER=none"} // by default, it sends spans to a collector on this machine
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	logs, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a registry: %w", err)
	}
	listening := make(chan string, 1)
	go r.follow(logs, listening)
	select {
	case r.Host = <-listening:
		return r, nil
	case <-r.ended:
		return nil, fmt.Errorf("the registry has ended: %s", r.Log())
	case <-ctx.Done():
		return nil, fmt.Errorf("the registry does not listen: %w; its log: %s", ctx.Err(), r.Log())
	}
}

// Wait returns when the process has ended, which it does when the context of Start ends.
func (r *Registry) Wait() { <-r.ended }

// Log returns the log so far.
func (r *Registry) Log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, "\n")
}

// Requests returns the requests that have been answered so far.
func (r *Registry) Requests() []Request {
	requests, _ := r.soFar()
	return requests
}

// Await returns the first request, past or future, that match accepts. A request is logged after its response, so a
// client may have the response first.
func (r *Registry) Await(ctx context.Context, match func(Request) bool) (Request, error) {
	for seen := 0; ; {
		requests, more := r.soFar()
		for ; seen < len(requests); seen++ {
			if match(requests[seen]) {
				return requests[seen], nil
			}
		}
		select {
		case <-more:
		case <-r.ended:
			return Request{}, fmt.Errorf("the registry has ended: %s", r.Log())
		case <-ctx.Done():
			return Request{}, fmt.Errorf("no match in %d requests: %w", seen, ctx.Err())
		}
	}
}

// soFar returns the requests, and a channel that is closed when there are more.
func (r *Registry) soFar() ([]Request, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests), r.more
}

// configure writes all files that the process reads, and returns the path of its configuration.
func (r *Registry) configure(dir, ip string) (string, error) {
	ca, err := pki.NewCA("registry")
	if err != nil {
		return "", err
	}
	leaf, err := ca.Leaf(ip)
	if err != nil {
		return "", err
	}
	r.CA = ca.PEM
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM)
	r.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}, DisableKeepAlives: true,
	}}
	hash, err := bcrypt.GenerateFromPassword([]byte(r.Password), bcrypt.MinCost) // it is checked for each request
	if err != nil {
		return "", err
	}
	config := fmt.Sprintf(`version: 0.1
log: {level: info, formatter: json, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %q}}
auth: {htpasswd: {realm: mirror, path: %q}}
http: {addr: %q, tls: {certificate: %q, key: %q}}
`, filepath.Join(dir, "blobs"), filepath.Join(dir, "htpasswd"), net.JoinHostPort(ip, "0"),
		filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	for name, data := range map[string][]byte{
		"htpasswd": fmt.Appendf(nil, "%s:%s\n", r.User, hash), "tls.crt": leaf.Cert, "tls.key": leaf.Key,
		"config.yaml": []byte(config),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "config.yaml"), nil
}

// follow reads the log until the process has closed it, and then waits for the process. It sends the address that the
// process listens on to listening.
func (r *Registry) follow(logs io.Reader, listening chan<- string) {
	lines := bufio.NewScanner(logs)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e = entry{} // a line that is not JSON, such as a panic, is kept as text
		}
		r.keep(lines.Text(), e)
		if address, ok := strings.CutPrefix(e.Message, "listening on "); ok {
			listening <- strings.TrimSuffix(address, ", tls")
		}
	}
	_ = r.cmd.Wait() // it is always killed
	close(r.ended)
}

// keep stores a line, and the request in it.
func (r *Registry) keep(line string, e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, line)
	if request, ok := e.request(); ok {
		r.requests = append(r.requests, request)
		close(r.more)
		r.more = make(chan struct{})
	}
}

// entry is a line of the log, with the fields of distribution that are used here.
type entry struct {
	Message string `json:"msg"`
	Remote  string `json:"http.request.remoteaddr"`
	Method  string `json:"http.request.method"`
	URI     string `json:"http.request.uri"`
	User    string `json:"auth.user.name"`
	Status  int    `json:"http.response.status"`
}

// request returns the request that the line is about. If the login failed, the line does not contain a status, which is
// always 401.
func (e entry) request() (Request, bool) {
	switch {
	case strings.HasPrefix(e.Message, "error authorizing context: "):
		e.Status = http.StatusUnauthorized
	case !strings.HasPrefix(e.Message, "response completed"):
		return Request{}, false
	}
	from, _, err := net.SplitHostPort(e.Remote)
	if err != nil {
		return Request{}, false
	}
	path, _, _ := strings.Cut(e.URI, "?")
	return Request{From: from, Method: e.Method, Path: path, User: e.User, Status: e.Status}, true
}
