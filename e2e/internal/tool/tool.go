// Package tool finds the programs that tests run and that other modules of this directory pin: e2e/jaeger,
// e2e/promtool, e2e/rig/registry.
package tool

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Find returns the path of the program name, of the newest that "make NAME" has built. The error says how to get one.
func Find(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := cmp.Or(os.Getenv("EVERGATE_E2E_CACHE"), filepath.Join(cache, "evergate-e2e"))
	found, err := filepath.Glob(filepath.Join(dir, name+"-*", name)) // in the order of their names
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("there is no %s in %s: build it with make %s, which takes minutes", name, dir, name)
	}
	return found[len(found)-1], nil
}

// Need returns the path of the program name. Without one it skips the test and says why, or fails it where
// EVERGATE_E2E_REQUIRED is set.
func Need(t testing.TB, name string) string {
	t.Helper()
	path, err := Find(name)
	if err == nil {
		return path
	}
	if os.Getenv("EVERGATE_E2E_REQUIRED") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}
