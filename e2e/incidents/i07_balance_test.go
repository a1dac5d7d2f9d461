package incidents

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/load"
)

// I7: connections live long, so one replica stays busy and new replicas do not get any calls.

func TestI7(t *testing.T) {
	aged := cluster.Product{} // five minutes, the default
	if !long() {
		aged = patched(flag("--max-connection-age=2s")) // short, so the random distribution evens out within the test
	}
	try(t, incident{
		id: "I7", what: "scaled from 1 to 3 under load", guard: "connections are retired at an age, by Connection: close",
		product: aged, long: true,
		happen:  scaleUp,
		lacking: "connections live forever (--max-connection-age=0)",
		without: func(t *testing.T, l *lab) {
			l.Install(t, patched(flag("--max-connection-age=0")))
		},
	})
}

// scaleUp counts the API server's calls to each replica after a scale-up. Each replica must get its share, which is at
// least a tenth of all calls, because connections are distributed at random.
func scaleUp(t *testing.T, l *lab, control bool) outcome {
	const fair = 0.1
	l.Kubectl(t, "", "-n", system, "scale", deployment, "--replicas=1")
	l.undo(t, "-n", system, "scale", deployment, "--replicas=3")
	l.awaitReplicas(t, 1)
	l.openConnections(t)
	tr := l.startAPI(t, l.writes(t, team))
	l.Kubectl(t, "", "-n", system, "scale", deployment, "--replicas=3")
	l.settle(t)
	begun := time.Now()
	var o outcome
	windows := []time.Duration{20 * time.Second, 40 * time.Second}
	switch {
	case long(): // the control too: after a minute connections of five are not old
		windows = []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute}
	case control: // by then each connection of the test above would have been retired ten times
		windows = windows[:1]
	}
	first := l.validated(t)
	before := first
	for _, end := range windows {
		pause(t.Context(), time.Until(begun.Add(end)))
		tr.some(t)
		after := l.validated(t)
		text, _ := shares(before, after)
		o.figure(fmt.Sprintf("shares of the replicas until %s after it", end), "%s", text)
		before = after
	}
	o.add(tr.stop(t))
	if _, least := shares(first, before); least < fair {
		o.breaks("a replica gets %.0f %% of the calls", 100*least)
	}
	return o
}

// openConnections makes the API server open more connections than it needs afterwards. In the control run, it then does
// not open a connection after the scale-up, which could reach a new replica by chance.
func (l *lab) openConnections(t *testing.T) {
	t.Helper()
	many := load.Start(t.Context(), 3*apiClients, l.writes(t, team))
	defer many.Stop()
	select {
	case <-many.After(600):
	case <-time.After(5 * time.Minute): // generous: it takes seconds on an idle machine
		t.Fatalf("there is no load: %v", many.Books())
	case <-t.Context().Done():
	}
}

// validated returns the number of reviews of Pods, Ingresses and Services by each replica.
func (l *lab) validated(t *testing.T) map[string]float64 {
	t.Helper()
	counts := map[string]float64{}
	for _, p := range l.awaitReplicas(t, 3) {
		set, err := l.count(t.Context(), p.Name)
		must(t, err)
		for _, path := range []string{"/validate/pods", "/validate/ingresses", "/validate/services"} {
			counts[p.Name] += set.Sum("evergate_reviews_total", map[string]string{"path": path})
		}
	}
	return counts
}

// shares returns the share of each replica in the calls between two counts, the largest first, and the smallest share.
func shares(before, after map[string]float64) (text string, least float64) {
	all := sum(after) - sum(before)
	var parts []float64
	for name, n := range after {
		parts = append(parts, (n-before[name])/max(all, 1))
	}
	slices.Sort(parts)
	slices.Reverse(parts)
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%.0f %% ", 100*p)
	}
	fmt.Fprintf(&b, "of %.0f calls", all)
	return b.String(), parts[len(parts)-1]
}
