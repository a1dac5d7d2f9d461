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

// Find returns the path of the newest program that "make TARGET" has built. pattern is its path in the cache, in which
// the directory of each build ends with a version. The error explains how to build it.
func Find(target, pattern string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := cmp.Or(os.Getenv("EVERGATE_E2E_CACHE"), filepath.Join(cache, "evergate-e2e"))
	found, err := filepath.Glob(filepath.Join(dir, pattern)) // sorted by name
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("there is no %s in %s: build it with make %s, which takes minutes", pattern, dir, target)
	}
	return found[len(found)-1], nil
}

// Need returns the path of the program that "make NAME" builds. If it has not been built, the test is skipped or fails.
func Need(t testing.TB, name string) string {
	t.Helper()
	path, err := Find(name, name+"-*/"+name)
	Require(t, err)
	return path
}

// Require skips the test with an error, or fails it if EVERGATE_E2E_REQUIRED is set. Without an error, it does nothing.
func Require(t testing.TB, err error) {
	t.Helper()
	if err != nil && os.Getenv("EVERGATE_E2E_REQUIRED") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
