package controlplane

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// Binaries is a directory with etcd, kube-apiserver and kubectl.
type Binaries string

// Find returns the directory in EVERGATE_E2E_BIN, or the newest directory that rig/build.sh has created. The error
// explains how to build one.
func Find() (Binaries, error) {
	if dir := os.Getenv("EVERGATE_E2E_BIN"); dir != "" {
		return Binaries(dir), Binaries(dir).check()
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	pattern := filepath.Join(cmp.Or(os.Getenv("EVERGATE_E2E_CACHE"), filepath.Join(cache, "evergate-e2e")), "kubernetes-*")
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	var newest Binaries
	for _, dir := range dirs { // sorted by name
		if Binaries(dir).check() == nil {
			newest = Binaries(dir)
		}
	}
	if newest == "" {
		return "", fmt.Errorf("there is no kube-apiserver in %s: build it with e2e/rig/build.sh, which takes minutes",
			pattern)
	}
	return newest, nil
}

func (b Binaries) check() error {
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(filepath.Join(string(b), name)); err != nil {
			return fmt.Errorf("a control plane needs %s: %w", name, err)
		}
	}
	return nil
}

// Kubectl returns the path of kubectl.
func (b Binaries) Kubectl() string { return filepath.Join(string(b), "kubectl") }
