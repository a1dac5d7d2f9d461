package incidents

import (
	"fmt"
	"testing"
	"time"
)

// I1, gatekeeper issue 3776: two of a hundred Pods were not rewritten each time that a node pool was replaced.
// Readiness was true before the listener served, and the process stopped while the Service still pointed at it.

func TestI1(t *testing.T) {
	const guard = "readiness follows the serving port, and replicas drain"
	t.Run("restart", func(t *testing.T) {
		try(t, incident{
			id: "I1", what: "one rollout restart after another under load", guard: guard,
			happen:  restarts,
			lacking: "no drain (--drain-delay=0s --drain-timeout=1ms --shutdown-timeout=1ms)",
			without: func(t *testing.T, l *lab) { l.Install(t, patched(undrained...)) },
		})
	})
	t.Run("nodes", func(t *testing.T) {
		try(t, incident{
			id: "I1", what: "every node drained, switched off and started again in turn, while Pods are created", guard: guard,
			happen: replaceNodes, // its control run is above
		})
	})
}

// undrained stops at SIGTERM without draining.
var undrained = []string{flag("--drain-delay=0s"), flag("--drain-timeout=1ms"), flag("--shutdown-timeout=1ms")}

// restarts restarts the Deployment every 20 s, even if the previous rollout has not ended, for three minutes in a
// complete run and for thirty minutes in a long run. In a short run, it restarts it three times, every 15 s.
func restarts(t *testing.T, l *lab, control bool) outcome {
	period := 20 * time.Second
	n := int(lasting(3*time.Minute, 30*time.Minute) / period)
	if testing.Short() {
		period, n = 15*time.Second, 3
	}
	tr := l.start(t)
	again := time.NewTicker(period)
	defer again.Stop()
	made := 0
	for range n {
		l.Kubectl(t, "", "-n", system, "rollout", "restart", deployment)
		made++
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
		if control && tr.lost(t) {
			break
		}
	}
	l.settle(t)
	o := tr.stop(t)
	o.figure("restarts", "%d, every %s", made, period)
	return o
}

// settle waits until the last rollout has ended and all draining replicas are gone, because calls that are lost at the
// very end also count.
func (l *lab) settle(t *testing.T) {
	t.Helper()
	l.Kubectl(t, "", "-n", system, "rollout", "status", deployment, "--timeout=5m")
	l.awaitReplicas(t, 3)
}

// replaceNodes simulates the replacement of a node pool: the nodes are empty when they come back.
func replaceNodes(t *testing.T, l *lab, _ bool) outcome {
	l.NeedRig(t, "replaces nodes")
	tr := l.startWith(t, l.pods(t, team))
	for _, node := range l.Nodes(t) {
		l.drain(t, node.Name)
		l.Off(t, node.Name)
		l.On(t, node.Name)
		l.Kubectl(t, "", "uncordon", node.Name)
		l.settle(t)
	}
	o := tr.stop(t)
	o.figure("nodes replaced", "%d", len(l.Nodes(t)))
	return o
}

// drain cordons a node and evicts its Pods.
func (l *lab) drain(t *testing.T, node string) {
	t.Helper()
	l.Kubectl(t, "", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=5m")
}

// pods returns writes that only create Pods.
func (l *lab) pods(t *testing.T, namespace string) call {
	t.Helper()
	p := l.newWriter(t, fmt.Sprintf("/api/v1/namespaces/%s/pods", namespace), typed("v1", "Pod", pod("", written)))
	return p.creates(mirrored)
}
