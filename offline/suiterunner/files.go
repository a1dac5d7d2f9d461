package suiterunner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// files reads the files that a suite refers to. A stranger may have written the suite in a pull request, and errors
// can quote a file. Only files in one directory are therefore read, and symbolic links must not lead out of it.
type files struct {
	dir  string // absolute
	root *os.Root
}

// newFiles returns the files that a suite may refer to. The caller closes root.
func newFiles(suite File) (*files, error) {
	path, err := filepath.Abs(suite.Path)
	if err != nil {
		return nil, err
	}
	given, err := filepath.Abs(suite.dir)
	if err != nil {
		return nil, err
	}
	dir := rootOf(filepath.Dir(path), given)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &files{dir, root}, nil
}

// rootOf returns the Git worktree that contains the directory of a suite. Without a worktree, it returns the working
// directory if it contains the suite, and otherwise the directory in which Find searched.
func rootOf(dir, given string) string {
	for parent := dir; ; parent = filepath.Dir(parent) {
		if _, err := os.Lstat(filepath.Join(parent, ".git")); err == nil {
			return parent
		}
		if parent == filepath.Dir(parent) {
			break
		}
	}
	working, err := os.Getwd()
	if err != nil || working == filepath.Dir(working) { // / contains every file
		return given
	}
	if relative, err := filepath.Rel(working, dir); err == nil && filepath.IsLocal(relative) {
		return working
	}
	return given
}

// relative returns the path of a file in root.
func (f *files) relative(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(f.dir, absolute)
	if err != nil || !filepath.IsLocal(relative) {
		return "", fmt.Errorf("%s: the file is outside %s: a suite can only refer to files in its Git worktree, or in the "+
			"directory in which you run evergate test", text.Path(path), text.Path(f.dir))
	}
	return relative, nil
}

// open opens a file.
func (f *files) open(path string) (*os.File, error) {
	name, err := f.relative(path)
	if err != nil {
		return nil, err
	}
	file, err := input.OpenIn(f.root, name)
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", text.Path(path), of.Err)
	}
	return file, err
}

// maxPolicy limits a policy file, in bytes. The limit of a whole policy, in package policy, is lower or has a better
// error message.
const maxPolicy = 8 << 20

// policy reads a policy file, or the policy files in a directory, like policystore.Read.
func (f *files) policy(path string) ([]policy.File, error) {
	name, err := f.relative(path)
	if err != nil {
		return nil, err
	}
	read := func(path, name string) (policy.File, error) {
		data, err := input.ReadIn(f.root, name, maxPolicy)
		if of, ok := errors.AsType[*fs.PathError](err); ok {
			err = fmt.Errorf("%s: %w", text.Path(path), of.Err)
		}
		return policy.File{Name: text.Path(path), Data: data}, err
	}
	var all []policy.File
	file, err := read(path, name)
	switch {
	case err == nil:
		all = append(all, file)
	case errors.Is(err, syscall.EISDIR):
		entries, err := fs.ReadDir(f.root.FS(), filepath.ToSlash(name))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			base := entry.Name()
			if strings.HasPrefix(base, ".") || !policy.IsFile(base) {
				continue
			}
			switch file, err := read(filepath.Join(path, base), filepath.Join(name, base)); {
			case err == nil:
				all = append(all, file)
			case !errors.Is(err, syscall.EISDIR):
				return nil, err
			}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no policy at %q: pass a file, or a directory with *.yaml or *.yml files", path)
	}
	return all, nil
}
