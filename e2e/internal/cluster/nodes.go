package cluster

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node is a node of the cluster.
type Node struct {
	Name string // on the rig: node-a, node-b, node-c
	Zone string // the label topology.kubernetes.io/zone: zone-a, …
	IP   string // address of the node; Pods have other addresses
}

// Nodes returns the nodes that are Ready, sorted by name.
func (c *Cluster) Nodes(t testing.TB) []Node {
	t.Helper()
	list, err := c.Client(t).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var nodes []Node
	for _, n := range list.Items {
		if !slices.ContainsFunc(n.Status.Conditions, isReady) {
			continue
		}
		node := Node{Name: n.Name, Zone: n.Labels[corev1.LabelTopologyZone]}
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				node.IP = a.Address
			}
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func isReady(c corev1.NodeCondition) bool {
	return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
}

// Cut silently drops every packet to and from a node and its Pods, like the failure of a zone. Peers are not notified:
// there is no reset and no "no route to host". Open connections stay open until their ends give up.
func (c *Cluster) Cut(t testing.TB, node string) {
	t.Helper()
	c.undoNode(t, "heal", node)
	c.script(t.Context(), t, "node.sh", "cut", node)
}

// Heal stops dropping the packets of a node.
func (c *Cluster) Heal(t testing.TB, node string) {
	t.Helper()
	c.script(t.Context(), t, "node.sh", "heal", node)
}

// Freeze stops every process of a node and its Pods, while its kernel continues. TCP connections are still accepted,
// but no process answers on them.
func (c *Cluster) Freeze(t testing.TB, node string) {
	t.Helper()
	c.undoNode(t, "thaw", node)
	c.script(t.Context(), t, "node.sh", "freeze", node)
}

// Thaw continues the processes of a node.
func (c *Cluster) Thaw(t testing.TB, node string) {
	t.Helper()
	c.script(t.Context(), t, "node.sh", "thaw", node)
}

// Off simulates a power failure: it drops every packet to and from the node, and kills every process of the node and
// its Pods immediately.
func (c *Cluster) Off(t testing.TB, node string) {
	t.Helper()
	c.undoNode(t, "on", node)
	c.script(t.Context(), t, "node.sh", "off", node)
}

// On starts a node that was switched off, and returns when it is Ready. Its Pods are lost.
func (c *Cluster) On(t testing.TB, node string) {
	t.Helper()
	c.script(t.Context(), t, "node.sh", "on", node)
}

// undoNode undoes a change to a node when the test ends, because the next test needs three Ready nodes. Each action is
// idempotent.
func (c *Cluster) undoNode(t testing.TB, action, node string) {
	t.Helper()
	c.NeedRig(t, "makes trouble for a node")
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		c.script(ctx, t, "node.sh", action, node)
		c.script(ctx, t, "node.sh", "ready", node)
	})
}
