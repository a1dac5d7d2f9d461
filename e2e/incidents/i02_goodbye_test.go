package incidents

import (
	"path/filepath"
	"testing"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/process"
)

// I2, kubernetes issue 127335: the API server continues to use idle connections to a terminating Pod, and never retries
// a POST. A process that sleeps and then closes these connections loses the calls on them.

func TestI2(t *testing.T) {
	const guard = "every response of a draining replica has Connection: close"
	for _, test := range []struct {
		name, what string
		happen     func(t *testing.T, l *lab)
	}{
		{"scale", "scaled 3 → 1 → 5 → 3 under load", scale},
		{"drain", "kubectl drain of a node under load", drainNode},
	} {
		t.Run(test.name, func(t *testing.T) {
			// the control run is in the test delete
			try(t, incident{id: "I2", what: test.what, guard: guard, happen: under(test.happen)})
		})
	}
	t.Run("delete", func(t *testing.T) {
		try(t, incident{
			id: "I2", what: "each replica deleted in turn under load", guard: guard, happen: deleteInTurn,
			// The drain lasts only until the endpoint is removed. A process that never sends Connection: close would
			// wait for nothing.
			product: patched(flag("--drain-timeout=12s")),
			lacking: "a build that never sends Connection: close",
			without: func(t *testing.T, l *lab) {
				mute := patched(flag("--drain-timeout=12s"))
				mute.Tag = l.silent(t)
				l.Install(t, mute)
			},
		})
	})
}

// under makes something happen under load.
func under(happen func(t *testing.T, l *lab)) func(*testing.T, *lab, bool) outcome {
	return func(t *testing.T, l *lab, _ bool) outcome {
		tr := l.start(t)
		happen(t, l)
		l.settle(t)
		return tr.stop(t)
	}
}

func scale(t *testing.T, l *lab) {
	for _, n := range []string{"1", "5", "3"} {
		l.Kubectl(t, "", "-n", system, "scale", deployment, "--replicas="+n)
		l.Kubectl(t, "", "-n", system, "rollout", "status", deployment, "--timeout=5m")
	}
}

func drainNode(t *testing.T, l *lab) {
	node := l.Nodes(t)[0].Name
	l.undo(t, "uncordon", node)
	l.drain(t, node)
	l.Kubectl(t, "", "uncordon", node)
}

// deleteInTurn deletes each replica and waits for its replacement. A control run continues until a call is lost.
func deleteInTurn(t *testing.T, l *lab, control bool) outcome {
	rounds := 1
	if control || long() {
		rounds = 5
	}
	tr := l.start(t)
	deleted := 0
	for range rounds {
		for _, p := range l.awaitReplicas(t, 3) {
			l.Kubectl(t, "", "-n", system, "delete", "pod", p.Name, "--wait=false")
			deleted++
			l.settle(t)
		}
		if control && tr.lost(t) {
			break
		}
	}
	o := tr.stop(t)
	o.figure("replicas deleted", "%d", deleted)
	return o
}

// silent loads a build of the product that never sends Connection: close, and returns its tag.
func (l *lab) silent(t *testing.T) string {
	t.Helper()
	const tag = "silent"
	l.load(t, tag, l.root(), map[string]string{"lifecycle/goodbye.go": filepath.Join(l.Dir,
		"calls/testdata/silent/goodbye.go")})
	return tag
}

// load builds the product from a source, with some files replaced, and loads it onto the nodes.
func (l *lab) load(t *testing.T, tag, source string, overlay map[string]string) {
	t.Helper()
	l.NeedRig(t, "loads an image of the test's own")
	binary := filepath.Join(t.TempDir(), "evergate")
	must(t, process.Build(t.Context(), source, binary, overlay))
	l.LoadBinary(t, cluster.Repository+":"+tag, binary)
}
