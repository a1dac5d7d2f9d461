// Package controlplane runs a real etcd and a real kube-apiserver on loopback, with a new certificate authority. It
// starts within seconds, and covers everything that the API server does by itself (validation, admission policies,
// webhooks, RBAC). It does not run controllers or nodes, and it deletes the data.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/evergate/evergate/e2e/internal/pki"
)

// ControlPlane is a running etcd and a running kube-apiserver.
type ControlPlane struct {
	URL string // of the API server

	dir   string // contains keys, data and logs
	seed  string // directory of the control plane whose objects it starts with, or empty
	bin   string
	ca    *pki.CA
	ended chan error // receives the error of the first process that ends
	alive sync.WaitGroup
}

// Wait returns when both processes have ended, which they do when the context of Start ends.
func (c *ControlPlane) Wait() { c.alive.Wait() }

// attempts is the maximum number of times that Start chooses ports. Another process may take a port before the program
// that needs it listens.
const attempts = 5

// Start runs both programs until ctx ends, and returns when the API server is ready. Their keys, data and logs are in
// dir. flags contains additional kube-apiserver flags, which override the default flags. If Start fails, both programs
// have ended.
func Start(ctx context.Context, bin Binaries, dir string, flags ...string) (*ControlPlane, error) {
	return StartFrom(ctx, bin, "", dir, flags...)
}

// StartFrom is like Start, with the objects of a control plane that has ended and whose directory was seed. If seed is
// empty, the new control plane does not have any objects.
func StartFrom(ctx context.Context, bin Binaries, seed, dir string, flags ...string) (*ControlPlane, error) {
	c := &ControlPlane{dir: dir, bin: string(bin), seed: seed}
	if err := c.writeKeys(); err != nil {
		return c, fmt.Errorf("make the keys of a control plane: %w", err)
	}
	for attempt := 1; ; attempt++ {
		programs, stop := context.WithCancel(ctx)
		err := c.start(programs, flags)
		if err == nil {
			context.AfterFunc(ctx, stop) // the programs run until ctx ends
			return c, nil
		}
		stop()
		c.Wait()
		if attempt == attempts || !strings.Contains(err.Error(), "address already in use") {
			return c, err
		}
	}
}

// start runs both programs on free ports until ctx ends.
func (c *ControlPlane) start(ctx context.Context, flags []string) error {
	c.ended = make(chan error, 2)
	ports, err := FreePorts(ctx, 3)
	if err != nil {
		return err
	}
	etcd, peers, api := ports[0], ports[1], ports[2]
	c.URL = "https://" + api
	if err := os.RemoveAll(c.path("etcd")); err != nil { // from an earlier attempt
		return err
	}
	if c.seed != "" {
		if err := os.CopyFS(c.path("etcd"), os.DirFS(filepath.Join(c.seed, "etcd"))); err != nil {
			return err
		}
	}
	if err := c.run(ctx, "etcd", etcdArgs(c.path("etcd"), "http://"+etcd, "http://"+peers)); err != nil {
		return err
	}
	if err := c.run(ctx, "kube-apiserver", append(c.apiServerArgs(api, "http://"+etcd, flags), flags...)); err != nil {
		return err
	}
	return c.awaitReady(ctx)
}

func (c *ControlPlane) path(name string) string { return filepath.Join(c.dir, name) }

// writeKeys creates the authority, the API server's certificate, and the key that signs service account tokens.
func (c *ControlPlane) writeKeys() (err error) {
	if c.ca, err = pki.NewCA("control-plane"); err != nil {
		return err
	}
	server, err := c.ca.Leaf("127.0.0.1", "localhost", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	tokens, err := c.ca.Leaf("service-account-tokens")
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"ca.crt": c.ca.PEM, "server.crt": server.Cert, "server.key": server.Key,
		"tokens.crt": tokens.Cert, "tokens.key": tokens.Key,
	} {
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func etcdArgs(data, clients, peers string) []string {
	return []string{
		"--name=test", "--data-dir=" + data,
		"--unsafe-no-fsync", // the data does not need to survive a crash of the machine
		"--logger=zap", "--log-level=warn",
		"--listen-client-urls=" + clients, "--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers, "--initial-cluster=test=" + peers,
	}
}

// WithServiceAccounts enables the admission plugin that adds service accounts to Pods. Without the service account
// default, which no controller creates here, the plugin denies every Pod. It is off unless this flag is passed.
const WithServiceAccounts = "--enable-admission-plugins=ServiceAccount"

func (c *ControlPlane) apiServerArgs(address, etcd string, flags []string) []string {
	host, port, _ := net.SplitHostPort(address)
	plugins := "--disable-admission-plugins=ServiceAccount"
	if slices.Contains(flags, WithServiceAccounts) {
		plugins = WithServiceAccounts
	}
	return []string{
		"--etcd-servers=" + etcd,
		"--bind-address=" + host, "--secure-port=" + port, "--advertise-address=" + host,
		"--endpoint-reconciler-type=none", // otherwise the API server waits for the endpoints of the Service kubernetes
		"--tls-cert-file=" + c.path("server.crt"), "--tls-private-key-file=" + c.path("server.key"),
		"--cert-dir=" + c.path("certs"),
		"--client-ca-file=" + c.path("ca.crt"), "--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path("tokens.crt"), "--service-account-signing-key-file=" + c.path("tokens.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		plugins,
		"--allow-privileged=true",
	}
}

// run starts a process that writes its log to dir and does not outlive this one.
func (c *ControlPlane) run(ctx context.Context, name string, args []string) error {
	log, err := os.Create(c.path(name + ".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own descriptor
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.alive.Go(func() {
		c.ended <- fmt.Errorf("%s ended: %w; the end of its log:\n%s", name, cmd.Wait(), c.logTail(name))
	})
	return nil
}

// logTail returns the end of a process's log, which contains the reason.
func (c *ControlPlane) logTail(name string) string {
	data, err := os.ReadFile(c.path(name + ".log"))
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-2000):])
}

// startTimeout only ends a start that hangs. A start takes about five seconds of a core.
const startTimeout = 5 * time.Minute

// awaitReady calls /readyz until it succeeds, which includes the built-in RBAC roles.
func (c *ControlPlane) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := c.Admin().HTTPClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		if err = c.ready(ctx, client); err == nil {
			return nil
		}
		select {
		case <-again.C:
		case ended := <-c.ended:
			return ended
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready: %w; the end of its log:\n%s", err, c.logTail("kube-apiserver"))
		}
	}
}

func (c *ControlPlane) ready(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// FreePorts returns n addresses on loopback without a listener, for programs that need a port. The ports are below the
// default range of Linux for outgoing connections (from 32768), because such a connection might take the port before
// the program listens. Within a process, a port is never returned twice. Another process starts elsewhere in the range,
// so it almost never gets the same port.
func FreePorts(ctx context.Context, n int) ([]string, error) {
	const first, some = 12_000, 20_000
	var addresses []string
	for len(addresses) < n {
		port := first + portsTried.Add(1)%some
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, l.Addr().String())
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	return addresses, nil
}

// portsTried counts the ports that FreePorts has tried, for all tests of a process, from a random start.
var portsTried = func() *atomic.Uint32 { //nolint:gochecknoglobals // tests of one process must not use the same ports
	n := new(atomic.Uint32)
	n.Store(rand.Uint32())
	return n
}()
