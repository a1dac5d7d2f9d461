// Package atomicdir creates directories with the layout that the kubelet gives ConfigMap, Secret and projected volumes.
// It is for tests.
//
//	volume/..2026_11_03_09_00_00.1/policy.yaml   one version, never changed
//	volume/..data -> ..2026_11_03_09_00_00.1     an update renames a new link over the old one
//	volume/policy.yaml -> ..data/policy.yaml
package atomicdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Dir is a volume. It must be written by one goroutine at a time.
type Dir struct {
	t        testing.TB
	path     string
	versions int
}

// New creates a volume without any version.
func New(t testing.TB) *Dir {
	t.Helper()
	return &Dir{t: t, path: t.TempDir()}
}

// Path returns the path of the volume, or of a file in it.
func (d *Dir) Path(name ...string) string {
	return filepath.Join(append([]string{d.path}, name...)...)
}

// Write replaces all files of the volume in one step, in the same order of operations as the kubelet's AtomicWriter.
func (d *Dir) Write(files map[string]string) {
	d.t.Helper()
	d.versions++
	version := fmt.Sprintf("..2026_11_03_09_00_00.%d", d.versions)
	d.must(os.Mkdir(d.Path(version), 0o755))
	for name, data := range files {
		d.must(os.WriteFile(d.Path(version, name), []byte(data), 0o644))
	}

	old, err := os.Readlink(d.Path("..data"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
	d.must(os.Symlink(version, d.Path("..data_tmp")))
	d.must(os.Rename(d.Path("..data_tmp"), d.Path("..data")))

	d.link(files)
	if old != "" {
		d.must(os.RemoveAll(d.Path(old)))
	}
}

// link creates the links to the files, and removes links to files that no longer exist.
func (d *Dir) link(files map[string]string) {
	d.t.Helper()
	for name := range files {
		err := os.Symlink(filepath.Join("..data", name), d.Path(name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			d.t.Fatal(err)
		}
	}
	shown, err := os.ReadDir(d.path)
	d.must(err)
	for _, f := range shown {
		if _, keep := files[f.Name()]; !keep && f.Name()[0] != '.' {
			d.must(os.Remove(d.Path(f.Name())))
		}
	}
}

func (d *Dir) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}
