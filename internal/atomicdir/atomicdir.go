// Package atomicdir lays out directories as kubelet lays out ConfigMap, Secret and projected volumes. It is for tests.
//
//	volume/..2026_11_03_09_00_00.1/policy.yaml   one version, never changed
//	volume/..data -> ..2026_11_03_09_00_00.1     renamed over the old link by an update
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

// Dir is a volume. It may be written by one goroutine at a time.
type Dir struct {
	t        testing.TB
	path     string
	versions int
}

// New makes a volume that no version was written to yet.
func New(t testing.TB) *Dir {
	t.Helper()
	return &Dir{t: t, path: t.TempDir()}
}

// Path returns the path of the volume, or of a file in it.
func (d *Dir) Path(name ...string) string {
	return filepath.Join(append([]string{d.path}, name...)...)
}

// Write replaces all files of the volume at once, in the steps and the order of kubelet's AtomicWriter.
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

// link makes the links that users see the same as files.
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
