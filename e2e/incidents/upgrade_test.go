package incidents

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/evergate/evergate/e2e/internal/cluster"
)

// older is the revision from which the test upgrades and to which it rolls back. It is the first revision that can be
// installed.
const older = "34a1190"

// TestUpgrade upgrades the image and the manifests, and rolls both back. Each is a rollout that replaces one program by
// another.
func TestUpgrade(t *testing.T) {
	if testing.Short() {
		t.Skip("a variant: skipped by -short")
	}
	l := open(t)
	source := l.revision(t, older)
	l.load(t, older, source, nil)
	old := cluster.Product{Source: source, Tag: older}
	try(t, incident{
		id: "I2", what: "upgraded from " + older + " (image and manifests) and back, under load", guard: "the drain, in both",
		product: old, // the control run is in TestI2/delete
		happen: under(func(t *testing.T, l *lab) {
			l.Install(t, cluster.Product{})
			l.settle(t)
			l.Install(t, old)
		}),
	})
}

// revision returns a directory with the sources of a commit.
func (l *lab) revision(t *testing.T, commit string) string {
	t.Helper()
	git := func(args ...string) ([]byte, error) {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", l.root()}, args...)...).Output()
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("git %s: %w: %s", args[0], err, failed.Stderr)
		}
		return out, err
	}
	if _, err := git("cat-file", "-e", commit+"^{commit}"); err != nil {
		shallow, _ := git("rev-parse", "--is-shallow-repository")
		if os.Getenv("EVERGATE_E2E_REQUIRED") == "" || string(shallow) == "true\n" {
			t.Skipf("this checkout does not have the commit %s (git fetch --unshallow): %v", commit, err)
		}
		t.Fatal(err)
	}
	tree, err := git("archive", commit)
	must(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	file := filepath.Join(t.TempDir(), "tree.tar")
	must(t, os.WriteFile(file, tree, 0o600))
	if out, err := exec.CommandContext(t.Context(), "tar", "-xf", file, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("unpack the sources of %s: %v\n%s", commit, err, out)
	}
	return dir
}
