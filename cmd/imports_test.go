package cmd

import (
	"os/exec"
	"strings"
	"testing"
)

// TestServerHasNoClientGo checks that the server does not contain client-go or a client for registries, which only the
// kubectl plugin uses.
func TestServerHasNoClientGo(t *testing.T) {
	deps := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	deps.Dir = ".."
	out, err := deps.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		for _, forbidden := range []string{
			"k8s.io/client-go", "k8s.io/streaming", "k8s.io/cli-runtime", "k8s.io/kubectl", "golang.org/x/oauth2",
			"github.com/moby/spdystream", "github.com/gorilla/websocket", "github.com/evergate/evergate/cmd/kubectl-evergate",
			"oras.land/oras-go",
		} {
			if path := strings.TrimSpace(line); path == forbidden || strings.HasPrefix(path, forbidden+"/") {
				t.Errorf("the server is compiled from %s", path)
			}
		}
	}
}
