package pki

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

// Mount is a directory that is updated like a mounted Secret or ConfigMap: each version is a separate directory, the
// files are links through ..data, and a rename replaces ..data.
type Mount struct {
	Dir     string
	version atomic.Int64
}

// Write replaces the contents of the mount in one step.
func (m *Mount) Write(files map[string][]byte) error {
	version := "..v" + strconv.FormatInt(m.version.Add(1), 10)
	if err := os.MkdirAll(filepath.Join(m.Dir, version), 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(m.Dir, version, name), data, 0o600); err != nil {
			return err
		}
	}
	old, _ := os.Readlink(filepath.Join(m.Dir, "..data"))
	next := filepath.Join(m.Dir, "..data_tmp")
	if err := os.Symlink(version, next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(m.Dir, "..data")); err != nil {
		return err
	}
	if err := m.link(files); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(m.Dir, old))
}

// link creates the links through ..data and removes links to files that no longer exist.
func (m *Mount) link(files map[string][]byte) error {
	for name := range files {
		path := filepath.Join(m.Dir, name)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Join("..data", name), path); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, keep := files[e.Name()]; keep || e.Name()[0] == '.' {
			continue
		}
		if err := os.Remove(filepath.Join(m.Dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// WritePair mounts a serving certificate with the keys of cert-manager's Secret.
func (m *Mount) WritePair(ca *CA, leaf Pair) error {
	return m.Write(map[string][]byte{"tls.crt": leaf.Cert, "tls.key": leaf.Key, "ca.crt": ca.PEM})
}
