// Package tool finds the programs that tests run. The modules in tools/ pin their versions, and e2e/rig/build.sh builds
// them.
package tool

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Find returns the path of the newest build of a program by "make NAME". The error explains how to build it.
func Find(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := cmp.Or(os.Getenv("EVERGATE_E2E_CACHE"), filepath.Join(cache, "evergate-e2e"))
	found, err := filepath.Glob(filepath.Join(dir, name+"-*", name)) // sorted by name
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("there is no %s in %s: build it with make %s, which takes minutes", name, dir, name)
	}
	return found[len(found)-1], nil
}

// Need returns the path of a program. If it has not been built, Need skips the test with the reason, or fails it if
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
