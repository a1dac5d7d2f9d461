package incidents

import (
	"fmt"
	"testing"
	"time"
)

// I1, gatekeeper issue 3776: two of a hundred Pods were not rewritten each time that a node pool was rolled. Readiness
// was true before the listener served, and at its end the process stopped while the Service still pointed at it.

func TestI1(t *testing.T) {
	const guard = "ready only when served, and a drain"
	t.Run("restart", func(t *testing.T) {
		try(t, incident{
			id: "I1", what: "rollout restart every 20 s under load", guard: guard,
			happen:  restarts,
			lacking: "no drain (--drain-delay=0s --drain-timeout=1ms --shutdown-timeout=1ms)",
			without: func(t *testing.T, l *lab) { l.Install(t, patched(undrained...)) },
		})
	})
	t.Run("nodes", func(t *testing.T) {
		try(t, incident{
			id: "I1", what: "every node drained, switched off and started again in turn, while Pods are created", guard: guard,
			happen: replaceNodes, // its control is the one above
		})
	})
}

// undrained stops at SIGTERM, as a process does that knows nothing of draining.
var undrained = []string{flag("--drain-delay=0s"), flag("--drain-timeout=1ms"), flag("--shutdown-timeout=1ms")}

// restarts restarts the Deployment every 20 s, whether or not the previous rollout has ended: four times in a short
// run, for three minutes in a whole run and for thirty in a long run.
func restarts(t *testing.T, l *lab, control bool) outcome {
	const period = 20 * time.Second
	n := int(lasting(3*time.Minute, 30*time.Minute) / period)
	if testing.Short() {
		n = 4
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
	o.figure("restarts", "%d", made)
	return o
}

// settle waits until the last roll-out has ended and all draining replicas are gone: what is lost at their very end is
// lost as well.
func (l *lab) settle(t *testing.T) {
	t.Helper()
	l.Kubectl(t, "", "-n", system, "rollout", "status", deployment, "--timeout=5m")
	l.awaitReplicas(t, 3)
}

// replaceNodes does what a roll of a node pool does, with nodes that come back empty.
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

// drain evicts what runs on a node, and lets nothing new there.
func (l *lab) drain(t *testing.T, node string) {
	t.Helper()
	l.Kubectl(t, "", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=5m")
}

// pods returns writes that create Pods only.
func (l *lab) pods(t *testing.T, namespace string) call {
	t.Helper()
	p := l.newWriter(t, fmt.Sprintf("/api/v1/namespaces/%s/pods", namespace), typed("v1", "Pod", pod("", written)))
	return p.creates(mirrored)
}
