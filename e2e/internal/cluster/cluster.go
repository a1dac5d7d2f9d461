// Package cluster controls the cluster in which incidents happen. By default, it is the rig of this repository
// (e2e/rig): three nodes in three zones on this machine, which a test may cut off, freeze and switch off. With
// E2E_CLUSTER=existing, it is the cluster in KUBECONFIG, and tests use only its API.
//
//	c := cluster.Open(t)                     // skips the test if there is no cluster
//	c.NeedRig(t, "cuts a node off")          // skips it on a cluster that is not the rig
//	c.Install(t, cluster.Product{Overlay: "fail-closed"})
//	c.Cut(t, "node-a")                       // healed when the test ends
//
// Methods with a testing.TB parameter fail the test on errors. Changes that a test makes to a node or to the control
// plane are undone when the test ends.
package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evergate/evergate/e2e/internal/controlplane"
	"github.com/evergate/evergate/e2e/internal/tool"
)

// Cluster is a running cluster, accessed as its admin.
type Cluster struct {
	Kubeconfig string // the path of the admin's kubeconfig
	Dir        string // the e2e directory of the repository

	rig     bool // it is the rig, so tests can control its nodes
	kubectl string
	admin   *rest.Config
	hosts   []string // the host and port of each API server
}

// Open returns the cluster that the tests run against. If the rig is not running, the test is skipped, or fails if
// EVERGATE_E2E_REQUIRED is set.
func Open(t testing.TB) *Cluster {
	t.Helper()
	c, err := open()
	tool.Require(t, err)
	return c
}

func open() (*Cluster, error) {
	c := &Cluster{Kubeconfig: filepath.Join(State(), "kubeconfig"), rig: true}
	if os.Getenv("E2E_CLUSTER") == "existing" {
		c.Kubeconfig, c.rig = os.Getenv("KUBECONFIG"), false
	}
	if _, err := os.Stat(c.Kubeconfig); err != nil {
		return nil, fmt.Errorf("there is no cluster: bring one up with make e2e-up, or set E2E_CLUSTER=existing and "+
			"KUBECONFIG: %w", err)
	}
	var err error
	if c.Dir, err = e2eDir(); err != nil {
		return nil, err
	}
	if c.kubectl, err = findKubectl(); err != nil {
		return nil, err
	}
	if c.admin, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return nil, err
	}
	if c.hosts, err = c.findHosts(); err != nil {
		return nil, err
	}
	return c, c.answers()
}

// findHosts returns the host and port of each API server. up.sh writes the URL of a second API server to a file.
func (c *Cluster) findHosts() ([]string, error) {
	urls := []string{c.admin.Host}
	if second, err := os.ReadFile(filepath.Join(State(), "second-apiserver")); c.rig && err == nil {
		urls = append(urls, strings.TrimSpace(string(second)))
	}
	hosts := make([]string, len(urls))
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		hosts[i] = u.Host
	}
	return hosts, nil
}

// answers returns an error if the API server in the kubeconfig does not respond. The kubeconfig may be left over.
func (c *Cluster) answers() error {
	config := c.Config()
	config.Timeout = 10 * time.Second // the call takes milliseconds
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		return fmt.Errorf("the cluster of %s does not answer: bring one up with make e2e-up: %w", c.Kubeconfig, err)
	}
	return nil
}

// State returns the directory of the rig's data, keys and logs.
func State() string { return cmp.Or(os.Getenv("EVERGATE_E2E_STATE"), "/var/tmp/evergate-e2e") }

// e2eDir finds the directory in a parent of the working directory, because tests run in the directory of their package.
func e2eDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "rig", "up.sh")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no rig/up.sh in any directory above the working directory")
}

func findKubectl() (string, error) {
	if bin, err := controlplane.Find(); err == nil {
		return bin.Kubectl(), nil
	}
	return exec.LookPath("kubectl")
}

// NeedRig skips the test on a cluster that is not the rig. The parameter why is the reason.
func (c *Cluster) NeedRig(t testing.TB, why string) {
	t.Helper()
	if !c.rig {
		t.Skipf("needs the rig, since it %s: run it without E2E_CLUSTER=existing", why)
	}
}

// Config returns a client configuration of the admin, as a copy that the caller may change. Requests are not throttled.
// If there are several API servers, each request goes to the next one.
func (c *Cluster) Config() *rest.Config { return c.configOf(c.hosts...) }

// Configs returns a configuration for each API server.
func (c *Cluster) Configs() []*rest.Config {
	configs := make([]*rest.Config, len(c.hosts))
	for i, host := range c.hosts {
		configs[i] = c.configOf(host)
	}
	return configs
}

func (c *Cluster) configOf(hosts ...string) *rest.Config {
	config := rest.CopyConfig(c.admin)
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &inTurn{next: next, hosts: hosts} })
	return config
}

// inTurn sends each request to the next host.
type inTurn struct {
	next  http.RoundTripper
	hosts []string
	sent  atomic.Uint64
}

func (t *inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = t.hosts[t.sent.Add(1)%uint64(len(t.hosts))]
	return t.next.RoundTrip(r)
}

// User returns the client configuration of a user with a name and groups, and with the permissions that RBAC grants
// them. The admin impersonates the user.
func (c *Cluster) User(name string, groups ...string) *rest.Config {
	config := c.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	return config
}

// Client returns a client of the admin.
func (c *Cluster) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	set, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Kubectl runs kubectl as the admin, with stdin if it is not empty, and returns its output. Warnings go to the test's
// log.
func (c *Cluster) Kubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, said, err := c.TryKubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, said)
	}
	if said != "" {
		t.Logf("kubectl %s: %s", strings.Join(args, " "), said)
	}
	return out
}

// TryKubectl is like Kubectl, for calls that may fail. It returns standard output and standard error.
func (c *Cluster) TryKubectl(ctx context.Context, stdin string, args ...string) (out, said string, err error) {
	cmd := exec.CommandContext(ctx, c.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// script runs one of the rig's scripts and returns its standard output.
func (c *Cluster) script(ctx context.Context, t testing.TB, name string, args ...string) string {
	t.Helper()
	c.NeedRig(t, "runs "+name)
	cmd := exec.CommandContext(ctx, filepath.Join(c.Dir, "rig", name), args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}
