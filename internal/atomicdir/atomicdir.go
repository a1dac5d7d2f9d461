// Package atomicdir creates directories with the layout that the kubelet gives ConfigMap, Secret and projected volumes.
// It is for tests.
//
//	volume/..2026_11_03_09_00_00.1/policy.yaml   one version, never changed
//	volume/..data -> ..2026_11_03_09_00_00.1     an update renames a new link over the old one
//	volume/policy.yaml -> ..data/policy.yaml
package atomicdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Dir is a volume of a test. It must be written by one goroutine at a time.
type Dir struct {
	t    testing.TB
	path string
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

// Write replaces all files of the volume in one step.
func (d *Dir) Write(files map[string]string) {
	d.t.Helper()
	if err := Write(d.path, files); err != nil {
		d.t.Fatal(err)
	}
}

// Write replaces all files of the volume in a directory in one step, in the same order of operations as the kubelet's
// AtomicWriter. It creates the directory if necessary. A volume must be written by one goroutine at a time.
func Write[T string | []byte](dir string, files map[string]T) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	version, err := os.MkdirTemp(dir, "..2026_11_03_09_00_00.")
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(version, name), []byte(data), 0o600); err != nil {
			return err
		}
	}
	link := filepath.Join(dir, "..data")
	old, err := os.Readlink(link)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(filepath.Base(version), link+"_tmp"); err != nil {
		return err
	}
	if err := os.Rename(link+"_tmp", link); err != nil {
		return err
	}
	if err := show(dir, files); err != nil || old == "" {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, old))
}

// show creates the links to the files, and removes links to files that no longer exist.
func show[T string | []byte](dir string, files map[string]T) error {
	for name := range files {
		err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	shown, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range shown {
		if _, keep := files[f.Name()]; !keep && f.Name()[0] != '.' {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
