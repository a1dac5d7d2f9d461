package policytest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/evergate/evergate/policy/suite"
)

// Find returns the suites at paths, in the order of their names: files that are named themselves, and *_test.yaml in
// directories and all beneath them, but for those that are hidden. A path without one is an error, so that a pipeline
// does not pass on nothing.
func Find(paths []string) ([]string, error) {
	var files []string
	var errs []error
	for _, path := range paths {
		found, err := find(path)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: no *_test.yaml in this directory", path)
		}
		files, errs = append(files, found...), append(errs, err)
	}
	return files, errors.Join(errs...)
}

func find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s: %w", path, pathErr.Err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && suite.IsFile(name):
			files = append(files, name)
		}
		return nil
	})
	return files, err
}
