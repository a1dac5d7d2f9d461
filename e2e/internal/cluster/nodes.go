package cluster

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node is one node of the cluster.
type Node struct {
	Name string // node-a, node-b, node-c on the rig
	Zone string // zone-a, …: the label topology.kubernetes.io/zone
	IP   string // its own address; Pods have others
}

// Nodes returns the nodes that are Ready, in the order of their names.
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

// Cut drops every packet to and from a node, in silence, its Pods' included: a zone that is gone. No peer is notified:
// no reset and no "no route to host". Connections that were open stay so until their ends give up.
func (c *Cluster) Cut(t testing.TB, node string) {
	t.Helper()
	c.undoNode(t, "heal", node)
	c.script(t.Context(), t, "node.sh", "cut", node)
}

// Heal lets the packets of a node through again.
func (c *Cluster) Heal(t testing.TB, node string) {
	t.Helper()
	c.script(t.Context(), t, "node.sh", "heal", node)
}

// Freeze stops every process of a node, its Pods' included, while its kernel goes on: TCP connections are still
// accepted, and no process answers on them.
func (c *Cluster) Freeze(t testing.TB, node string) {
	t.Helper()
	c.undoNode(t, "thaw", node)
	c.script(t.Context(), t, "node.sh", "freeze", node)
}

// Thaw lets the processes of a node go on.
func (c *Cluster) Thaw(t testing.TB, node string) {
	t.Helper()
	c.script(t.Context(), t, "node.sh", "thaw", node)
}

// Off is the power cut: no packet to or from the node, and every process on it killed at once, its Pods' included.
func (c *Cluster) Off(t testing.TB, node string) {
	t.Helper()
	c.undoNode(t, "on", node)
	c.script(t.Context(), t, "node.sh", "off", node)
}

// On starts a node that was switched off, and returns when it is Ready. Its Pods were lost.
func (c *Cluster) On(t testing.TB, node string) {
	t.Helper()
	c.script(t.Context(), t, "node.sh", "on", node)
}

// Exec runs a command in the namespaces of a node, where only the filesystem is that of the host (ctr, ss, nft …), and
// returns what it prints.
func (c *Cluster) Exec(t testing.TB, node string, command ...string) string {
	t.Helper()
	return c.script(t.Context(), t, "node.sh", append([]string{"exec", node}, command...)...)
}

// undoNode undoes a trouble when the test ends, so that the next one finds three Ready nodes. Each action is
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
