package suiterunner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/suite"
)

// File is the file of a suite.
type File struct {
	Path string
	dir  string // the directory in which Find searched, or the directory of a file that was given by its path
}

// Find returns the suites at paths, sorted by name. A path may be a file, or a directory, in which Find searches
// recursively for files named *_test.yaml that are not hidden. A path without a suite is an error. Otherwise, a CI
// job could pass without any case.
func Find(paths []string) ([]File, error) {
	var files []File
	var errs []error
	for _, path := range paths {
		found, err := find(path)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: no *_test.yaml in this directory", text.Path(path))
		}
		files, errs = append(files, found...), append(errs, err)
	}
	return files, errors.Join(errs...)
}

func find(path string) ([]File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, named(path, err)
	}
	if !info.IsDir() {
		return []File{{path, filepath.Dir(path)}}, nil
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	var files []File
	var errs []error
	fail := func(name string, err error) { errs = append(errs, named(filepath.Join(path, name), err)) }
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && suite.IsFile(name):
			file, err := input.OpenIn(root, name) // a symbolic link may point outside the directory
			if err != nil {
				fail(name, err)
				return nil
			}
			files = append(files, File{filepath.Join(path, name), path})
			return file.Close()
		case entry.Type()&fs.ModeSymlink != 0: // to a directory, which may contain suites
			if _, err := input.Link(root, name); err != nil {
				fail(name, err)
			}
		}
		return nil
	})
	return files, errors.Join(append(errs, err)...)
}
