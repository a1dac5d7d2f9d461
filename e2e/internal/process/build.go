package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build compiles the module in root into a binary at path, as the Dockerfile does. overlay replaces files of the
// module, by name, with others: that is how a test gets a server that lacks one thing, without the product having a
// flag for it. The replaced file must exist, so that a test does not lose its control when a file is renamed.
func Build(ctx context.Context, root, path string, overlay map[string]string) error {
	args := []string{"build", "-trimpath", "-tags", "grpcnotrace,nethttpomithttp2", "-o", path}
	if len(overlay) > 0 {
		file, err := writeOverlay(root, path+".overlay.json", overlay)
		if err != nil {
			return err
		}
		args = append(args, "-overlay", file)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = root
	// its PWD is root as it is written here, as are the names in the overlay
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", root, err, out)
	}
	return nil
}

// BuildPlugin compiles kubectl-evergate, a module of its own in the repository at root, into a binary at path, as make
// plugin does.
func BuildPlugin(ctx context.Context, root, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, ".")
	cmd.Dir = filepath.Join(root, "cmd", "kubectl-evergate")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
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
