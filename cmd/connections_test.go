package cmd

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/lifecycle"
)

// The default of --max-connections has room for the idle connections of three API servers on every path, and for
// reviews in progress. It is no higher than that, because each connection takes memory. If this test fails after a path
// was added, change the default, its comment, the memory in docs/runbooks/sizing.md, maxConnections in e2e/calls and
// the comment of the memory limit in kustomize/base, and check that the limit still has room.
func TestMaxConnections(t *testing.T) {
	const (
		idle       = 25  // connections that an API server keeps for a path: MaxIdleConnsPerHost of client-go's transport
		inProgress = 128 // reviews, at least
		step       = 128 // the default is a multiple of it
	)
	paths := map[string]bool{} // webhooks that call the same path share its connections
	for _, w := range admission.Webhooks() {
		paths[w.Path] = true
	}
	kept := func(servers int) int { return servers * idle * len(paths) }
	want := (kept(3) + inProgress + step - 1) / step * step
	if lifecycle.DefaultMaxConnections != want {
		t.Errorf("the default of --max-connections is %d, and %d paths need %d", lifecycle.DefaultMaxConnections,
			len(paths), want)
	}
	for file, sentences := range map[string][]string{
		"../docs/runbooks/sizing.md": {
			fmt.Sprintf("| API servers | idle connections for %d paths |", len(paths)),
			"| 1 | " + thousands(kept(1)) + " |", "| 2 | " + thousands(kept(2)) + " |",
			"| 3 | " + thousands(kept(3)) + " |", "| 5 | " + thousands(kept(5)) + " |",
			"| connections | " + thousands(want) + " connections ", "the default of " + thousands(want) + " is enough",
			"too small for " + thousands(kept(5)) + " connections",
		},
		"../docs/serve.md":                  {"limit of " + thousands(want) + "."},
		"../kustomize/base/deployment.yaml": {"for " + thousands(want) + " connections (--max-connections)"},
		"../e2e/calls/hostile_test.go":      {fmt.Sprintf("maxConnections = %d ", want)},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sentences {
			if !strings.Contains(string(text), s) {
				t.Errorf("%s does not contain %q", file, s)
			}
		}
	}
}

// thousands formats a number below a million as the documents do: 1,280.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
