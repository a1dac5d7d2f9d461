package controlplane

import (
	"os"
	"path/filepath"

	"github.com/evergate/evergate/e2e/internal/tool"
)

// Binaries is a directory with etcd, kube-apiserver and kubectl.
type Binaries string

// Find returns the directory in EVERGATE_E2E_BIN, or the newest directory that "make rig" has created. The error
// explains how to build one.
func Find() (Binaries, error) {
	if dir := os.Getenv("EVERGATE_E2E_BIN"); dir != "" {
		return Binaries(dir), nil
	}
	program, err := tool.Find("rig", "kubernetes-*/kube-apiserver")
	return Binaries(filepath.Dir(program)), err
}

// Kubectl returns the path of kubectl.
func (b Binaries) Kubectl() string { return filepath.Join(string(b), "kubectl") }
