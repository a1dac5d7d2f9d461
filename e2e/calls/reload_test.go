package calls

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/process"
)

// TestLeafRenewed renews the leaf 20 times under load, like cert-manager. The clients reconnect all the time, because
// connections are closed after one response, so every certificate is used.
func TestLeafRenewed(t *testing.T) {
	c := newCluster(t, product(t), "--max-connection-age", "1ms")
	p := c.start()
	c.service.Set(p.Addr)
	load := c.load(c.client(client.ClusterIP), clients)
	for i := range 20 {
		await(t, "calls", load.After(200))
		c.renewLeaf()
		awaitCount(t, p, i+1, "serving certificate renewed")
	}
	await(t, "calls", load.After(200))
	noneLost(t, load.Stop())
}

// TestCARenewedWithSameKey renews the CA with the same key. The API server verifies with the new CA certificate
// immediately, while the process uses its old leaf for some time before it gets a new one.
func TestCARenewedWithSameKey(t *testing.T) {
	c := newCluster(t, product(t), "--max-connection-age", "1ms")
	p := c.start()
	c.service.Set(p.Addr)
	apiServer := c.client(client.ClusterIP)
	load := c.load(apiServer, clients)
	for i := range 5 {
		await(t, "calls", load.After(200))
		renewed, err := c.ca.Renew()
		must(t, err)
		c.ca = renewed
		apiServer.SetCABundle(c.ca.PEM) // the CA injector is faster than the kubelet
		await(t, "calls", load.After(200))
		c.renewLeaf()
		awaitCount(t, p, i+1, "serving certificate renewed")
	}
	await(t, "calls", load.After(200))
	noneLost(t, load.Stop())
}

// TestPolicyReloaded replaces the policy 100 times under load, every tenth time by a policy that fails to load.
func TestPolicyReloaded(t *testing.T) {
	c := newCluster(t, product(t))
	p := c.start()
	c.service.Set(p.Addr)
	load := c.load(c.client(client.ClusterIP), clients)
	good, bad := 0, 0
	for i := range 100 {
		text := policy + fmt.Sprintf("# version %d\n", i)
		if i%10 == 9 {
			text = strings.Replace(text, "mode: enforce", fmt.Sprintf("mode: enforced%d", i), 1)
		}
		must(t, c.policy.Write(map[string][]byte{"policy.yaml": []byte(text)}))
		if i%10 == 9 {
			bad++
			awaitCount(t, p, bad, "policy failed to load: the last good one stays active")
		} else {
			good++
			awaitCount(t, p, good, "policy changed")
		}
	}
	noneLost(t, load.Stop())
	t.Logf("policies changed %d, failed to load %d", good, bad)
}

// TestConnectionAge checks that the first response after a second closes a connection.
func TestConnectionAge(t *testing.T) {
	c := newCluster(t, product(t), "--max-connection-age", "1s")
	p := c.start()
	c.service.Set(p.Addr)
	load := c.load(c.client(client.ClusterIP), clients)
	await(t, "calls", load.After(20_000))
	report := load.Stop()
	noneLost(t, report)
	if report.Dials <= clients {
		t.Errorf("%d connections for %d clients: no connection was closed", report.Dials, clients)
	}
}

// awaitCount waits until the process has logged a message n times.
func awaitCount(t *testing.T, p *process.Process, n int, msg string) {
	t.Helper()
	seen := 0
	_, err := p.Await(t.Context(), func(e process.Entry) bool {
		if e.Is(msg) {
			seen++
		}
		return seen == n
	})
	if err != nil {
		t.Fatalf("waiting for %d × %q: %v", n, msg, err)
	}
}

func noneLost(t *testing.T, r client.Report) {
	t.Helper()
	t.Log(r)
	if r.Failures > 0 {
		t.Error("calls were lost")
	}
}
