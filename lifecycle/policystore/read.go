package policystore

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evergate/evergate/internal/reload"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// Read reads the policy files at path, which is a file or a directory, for policy.Load. Unlike Open, it returns an
// error if no policy file exists, because a user who passes a path on a command line expects a policy there.
func Read(path string) ([]policy.File, error) {
	files, err := readFiles(path)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, NoPolicy(path)
	}
	var sources []policy.File
	for _, f := range files {
		sources = append(sources, policy.File{Name: text.Path(f.Name), Data: f.Data})
	}
	return sources, nil
}

// NoPolicy returns the error for a path without a policy file. A stranger may have written the path.
func NoPolicy(path string) error {
	const longest = 4096 // bytes; Linux does not open longer names
	return fmt.Errorf("there is no policy at %s: pass a file, or a directory with *.yaml or *.yml files",
		text.QuoteUpTo(longest, path))
}

// readFiles reads the files at path. Their names do not include the directory, so the hash of a policy is the same on
// every replica and on the author's laptop.
func readFiles(path string) ([]reload.File, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return reload.ReadDir(path, policy.IsFile)
	}
	files, err := reload.ReadFiles(path)
	for i := range files {
		files[i].Name = filepath.Base(path)
	}
	return files, err
}
