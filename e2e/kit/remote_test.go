package kit

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemoteURL renders and applies the overlays from the URL of a Git repository and a tag, as
// docs/runbooks/install.md describes for a release. The result is the same as from the directory.
func TestRemoteURL(t *testing.T) {
	t.Parallel()
	c := start(t)
	url := serveRepository(t, "v0.1.0")
	for _, overlay := range read(t).Overlays() {
		if !strings.HasPrefix(overlay, "kustomize/") {
			continue
		}
		t.Run(path.Base(overlay), func(t *testing.T) {
			needsNative(t, overlay)
			remote := url + "//" + overlay + "?ref=v0.1.0"
			if c.kubectl(t, "", "kustomize", remote) != c.kubectl(t, "", "kustomize", filepath.Join(root, overlay)) {
				t.Errorf("%s renders other objects than the directory", remote)
			}
			c.kubectl(t, "", "apply", "--server-side", "-k", remote)
		})
	}
}

// serveRepository serves a repository on loopback that contains kustomize/ in a commit with a tag. It returns its URL.
func serveRepository(t *testing.T, tag string) string {
	t.Helper()
	dir := t.TempDir()
	repository := filepath.Join(dir, "evergate")
	must(t, os.CopyFS(filepath.Join(repository, "kustomize"), os.DirFS(filepath.Join(root, "kustomize"))))
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "."},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--no-gpg-sign", "-m", tag},
		{"tag", tag},
	} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = repository
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git, err := exec.LookPath("git")
	must(t, err)
	server := httptest.NewServer(&cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
	})
	t.Cleanup(server.Close)
	return server.URL + "/evergate"
}
