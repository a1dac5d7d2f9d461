package cluster

import (
	"context"
	"testing"
)

// RestartAPIServer stops the API server alone and starts it again over the same data, with flags added for as long as
// the test lasts. It returns when /readyz says so.
func (c *Cluster) RestartAPIServer(t testing.TB, flags ...string) {
	t.Helper()
	c.NeedRig(t, "restarts the API server")
	if len(flags) > 0 {
		t.Cleanup(func() { c.script(context.WithoutCancel(t.Context()), t, "apiserver.sh", "restart") })
	}
	c.script(t.Context(), t, "apiserver.sh", append([]string{"restart"}, flags...)...)
}

// StopAPIServer stops the API server alone. RestartAPIServer starts it again, at the latest when the test ends.
func (c *Cluster) StopAPIServer(t testing.TB) {
	t.Helper()
	c.NeedRig(t, "stops the API server")
	t.Cleanup(func() { c.script(context.WithoutCancel(t.Context()), t, "apiserver.sh", "start") })
	c.script(t.Context(), t, "apiserver.sh", "stop")
}

// StopAll stops everything, as a power cut of the whole site does: nodes are killed at once, then the control plane.
// What etcd and the nodes' disks hold is kept. StartAll is called at the latest when the test ends.
func (c *Cluster) StopAll(t testing.TB) {
	t.Helper()
	c.NeedRig(t, "stops the whole cluster")
	t.Cleanup(func() { c.script(context.WithoutCancel(t.Context()), t, "up.sh") })
	c.script(t.Context(), t, "down.sh", "--keep")
}

// StartAll starts everything again and returns when all nodes are Ready, which says nothing of the Pods on them.
func (c *Cluster) StartAll(t testing.TB) {
	t.Helper()
	c.script(t.Context(), t, "up.sh")
}
