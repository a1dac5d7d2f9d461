package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Files are also replaced in a checkout behind a symbolic link. Otherwise, the product itself would be built without an
// error, and a control run would not remove anything.
func TestBuildOverlayBehindLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	for name, text := range map[string]string{
		"tree/go.mod":  "module example.com/overlaid\n",
		"tree/main.go": "package main\n\nfunc main() { println(\"as it is\") }\n",
		"other.go":     "package main\n\nfunc main() { println(\"replaced\") }\n",
	} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	must(t, os.Symlink("tree", link))
	binary := filepath.Join(dir, "binary")
	must(t, Build(t.Context(), link, binary, map[string]string{"main.go": filepath.Join(dir, "other.go")}))
	out, err := exec.CommandContext(t.Context(), binary).CombinedOutput()
	must(t, err)
	if got := string(out); got != "replaced\n" {
		t.Errorf("the binary prints %q: the replaced file was ignored", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
