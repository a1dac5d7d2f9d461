package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build compiles the module in root into a binary at path, with the compiler flags and the build list of the
// Dockerfile. overlay replaces files of the module. In this way, a test can use a server without one feature, although
// the product does not have a flag for it. The replaced files must exist, because otherwise a test would lose its
// control run when a file is renamed.
func Build(ctx context.Context, root, path string, overlay map[string]string) error {
	args := []string{"build", "-trimpath", "-gcflags=all=", "-tags", "grpcnotrace,nethttpomithttp2", "-o", path}
	if len(overlay) > 0 {
		file, err := writeOverlay(root, path+".overlay.json", overlay)
		if err != nil {
			return err
		}
		args = append(args, "-overlay", file)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = root
	// PWD must be root, with the same spelling as in the names in the overlay.
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", root, err, out)
	}
	return nil
}

// BuildPlugin compiles kubectl-evergate of the repository at root into a binary at path. It uses the build list of
// e2e/go.work and the compiler flags of the tests. Kubernetes' packages are then not compiled again.
func BuildPlugin(ctx context.Context, root, path string) error {
	work, err := filepath.Abs(filepath.Join(root, "e2e", "go.work"))
	if err != nil {
		return fmt.Errorf("build the plugin: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, ".")
	cmd.Dir = filepath.Join(root, "cmd", "kubectl-evergate")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOWORK="+work)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", cmd.Dir, err, out)
	}
	return nil
}

func writeOverlay(root, file string, overlay map[string]string) (string, error) {
	replace := map[string]string{}
	for name, replacement := range overlay {
		path := filepath.Join(root, name)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("replace a file of the product: %w", err)
		}
		abs, err := filepath.Abs(replacement)
		if err != nil {
			return "", err
		}
		replace[path] = abs
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(file, data, 0o600)
}
