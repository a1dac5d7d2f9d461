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
	"github.com/evergate/evergate/lifecycle/policystore"
	"github.com/evergate/evergate/policy"
)

// files reads the files that a suite refers to. A stranger may have written the suite in a pull request, and errors can
// quote a file. In a Git worktree, only files of the worktree are therefore read. Elsewhere, a suite may name any file.
// Symbolic links must not lead out of the worktree, out of the directory in which Find searched, or out of the
// directory of another file that the suite names.
type files struct {
	dir      string // absolute
	worktree bool   // dir is a Git worktree
}

// newFiles returns the files that a suite may refer to.
func newFiles(suite File) (*files, error) {
	path, err := filepath.Abs(suite.Path)
	if err != nil {
		return nil, err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return &files{dir, true}, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	given, err := filepath.Abs(suite.dir)
	return &files{given, false}, err
}

// root opens the directory that symbolic links must not leave, and returns the path of a file in it. The caller closes
// the directory.
func (f *files) root(path string) (root *os.Root, name string, err error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	dir := f.dir
	switch name, err = filepath.Rel(dir, absolute); {
	case err == nil && filepath.IsLocal(name):
	case f.worktree:
		return nil, "", fmt.Errorf("%s: the file is outside %s: a suite can only refer to files in its Git worktree",
			text.Path(path), text.Path(f.dir))
	default:
		dir, name = filepath.Dir(absolute), filepath.Base(absolute)
	}
	root, err = os.OpenRoot(dir)
	return root, name, named(path, err)
}

// named returns an error about a file with the path that the user knows.
func named(path string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", text.Path(path), of.Err)
	}
	return err
}

// open opens a file.
func (f *files) open(path string) (*os.File, error) {
	root, name, err := f.root(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	file, err := input.OpenIn(root, name)
	return file, named(path, err)
}

// maxPolicy limits a policy file, in bytes. The limit of a whole policy, in package policy, is lower or has a better
// error message.
const maxPolicy = 8 << 20

// policy reads a policy file, or the policy files in a directory, like policystore.Read.
func (f *files) policy(path string) ([]policy.File, error) {
	root, name, err := f.root(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	read := func(path, name string) (policy.File, error) {
		data, err := input.ReadIn(root, name, maxPolicy)
		return policy.File{Name: text.Path(path), Data: data}, named(path, err)
	}
	var all []policy.File
	file, err := read(path, name)
	switch {
	case err == nil:
		all = append(all, file)
	case errors.Is(err, syscall.EISDIR):
		entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(name))
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
		return nil, policystore.NoPolicy(path)
	}
	return all, nil
}
