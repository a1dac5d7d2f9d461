package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPins checks that a release is built only from code and images that a checksum in the repository pins.
func TestPins(t *testing.T) {
	_, version, _ := strings.Cut(string(read(t, "go.mod")), "\ngo ")
	version, _, _ = strings.Cut(version, "\n")
	image := regexp.MustCompile(`(?m)^ARG GO_IMAGE=docker\.io/library/golang:` + regexp.QuoteMeta(version) +
		`-alpine@sha256:[0-9a-f]{64}$`)
	if !image.Match(read(t, "Dockerfile")) {
		t.Errorf("GO_IMAGE in the Dockerfile is not golang:%s-alpine with a digest", version)
	}
	workflows, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(workflows) == 0 {
		t.Fatalf("%d workflows, %v", len(workflows), err)
	}
	pinned := regexp.MustCompile(`@[0-9a-f]{40} # v|@sha256:[0-9a-f]{64}$`)
	for _, workflow := range workflows {
		for line := range strings.Lines(string(read(t, strings.TrimPrefix(workflow, "../")))) {
			names := strings.Contains(line, "uses: ") && !strings.Contains(line, "uses: ./") || strings.Contains(line, "image=")
			if names && !pinned.MatchString(strings.TrimSpace(line)) {
				t.Errorf("%s: not pinned: %s", workflow, line)
			}
			if strings.Contains(line, "go run ") || strings.Contains(line, "go install ") {
				t.Errorf("%s: add the tool to a go.mod in tools/, and build it with make: %s", workflow, line)
			}
		}
	}
}

// TestDependabot checks that Dependabot updates each Go module, except the modules that its comment explains.
func TestDependabot(t *testing.T) {
	config := string(read(t, ".github/dependabot.yml"))
	modules := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch dir := path.Dir(name); {
		case err != nil:
			return err
		case entry.IsDir():
			return skipped(entry.Name())
		case entry.Name() != "go.mod", strings.Contains(dir, "wasm/k8s"), strings.Contains(dir, "rig/versions"):
			return nil
		case !strings.Contains(config, "\n  - /"+strings.TrimPrefix(dir, ".")+"\n"):
			t.Errorf(".github/dependabot.yml does not list /%s", dir)
		}
		modules++
		return nil
	})
	if err != nil || modules < 10 {
		t.Errorf("%d modules, %v", modules, err)
	}
}
