package cluster

import (
	"context"
	"testing"
)

// RestartAPIServer stops only the API server and starts it again with the same data. It returns when /readyz succeeds.
func (c *Cluster) RestartAPIServer(t testing.TB) {
	t.Helper()
	c.script(t.Context(), t, "apiserver.sh", "restart")
}

// StopAll simulates a power failure of the whole site: it kills the nodes immediately, and then the control plane. It
// keeps the data of etcd and the disks of the nodes. StartAll is called at the latest when the test ends.
func (c *Cluster) StopAll(t testing.TB) {
	t.Helper()
	c.NeedRig(t, "stops the whole cluster")
	t.Cleanup(func() { c.script(context.WithoutCancel(t.Context()), t, "up.sh") })
	c.script(t.Context(), t, "down.sh", "--keep")
}

// StartAll starts everything again and returns when all nodes are Ready. The Pods may not be ready yet.
func (c *Cluster) StartAll(t testing.TB) {
	t.Helper()
	c.script(t.Context(), t, "up.sh")
}
