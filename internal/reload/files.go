package reload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxFileBytes is the largest size of one file. It is four times the size of a whole ConfigMap or Secret, so only a
	// wrong path (a log, a disk image) can exceed it, and such a file does not fill the memory of the process.
	maxFileBytes = 4 << 20

	// maxBytes is the largest size of all files that are read together, because 256 large files would also fill the
	// memory. It is also the limit of a policy's text.
	maxBytes = 8 << 20

	// maxFiles is the largest number of files in a directory. It is enough for one key for each of several hundred
	// teams, and less than a source tree.
	maxFiles = 256

	// attempts is how often a read is tried if the files change during the read. One retry is enough for the kubelet,
	// which changes a volume at most once a minute.
	attempts = 5

	// dataLink is the symlink through which the kubelet shows all files of a ConfigMap, Secret or projected volume.
	// Each version is a separate directory that never changes. An update renames a new dataLink over the old one and
	// then removes the old directory (AtomicWriter, k8s.io/kubernetes/pkg/volume/util).
	dataLink = "..data"
)

var errChanging = errors.New("the files change faster than they can be read")

// File is the name and the contents of a file.
type File struct {
	Name string // the path given to ReadFiles, or the name within the directory given to ReadDir
	Data []byte
}

// ReadFiles reads the given files. If they are in one volume, they all have the same version. A file that does not
// exist is left out, and the caller decides whether it is required.
func ReadFiles(paths ...string) ([]File, error) {
	return read(func() ([]entry, error) {
		var list []entry
		for _, path := range paths {
			switch target, err := filepath.EvalSymlinks(path); {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return nil, failed(path, err)
			default:
				list = append(list, entry{path, path, target})
			}
		}
		return list, nil
	})
}

// ReadDir reads the files of a directory whose names keep accepts, in the order of their names and all of one version.
// It ignores subdirectories and names that begin with a dot. A directory that does not exist has no files.
func ReadDir(dir string, keep func(name string) bool) ([]File, error) {
	return read(func() ([]entry, error) {
		version, err := filepath.EvalSymlinks(filepath.Join(dir, dataLink))
		if errors.Is(err, fs.ErrNotExist) { // a plain directory and not a volume
			version, err = filepath.EvalSymlinks(dir)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, failed(dir, err)
		}
		return list(dir, version, keep)
	})
}

// list returns the files of dir, whose current contents are in the directory version.
func list(dir, version string, keep func(name string) bool) ([]entry, error) {
	found, err := os.ReadDir(version)
	if err != nil {
		return nil, failed(dir, err)
	}
	var entries []entry
	for _, f := range found {
		name := f.Name()
		if strings.HasPrefix(name, ".") || !keep(name) {
			continue
		}
		path := filepath.Join(dir, name)
		target, err := filepath.EvalSymlinks(filepath.Join(version, name))
		if err != nil {
			return nil, failed(path, err)
		}
		if info, err := os.Stat(target); err != nil {
			return nil, failed(path, err)
		} else if info.IsDir() {
			continue
		}
		entries = append(entries, entry{name, path, target})
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("%s contains %d files, more than the limit of %d", dir, len(entries), maxFiles)
	}
	return entries, nil
}

// entry is a file to be read.
type entry struct {
	name   string
	path   string // for errors
	target string // with all symlinks resolved; it is different in each version of a volume
}

// read reads the files that list returns, and then calls list again. If both lists are the same, the files were not
// replaced, and their removal had not begun, while they were read.
func read(list func() ([]entry, error)) ([]File, error) {
	var err error
	for range attempts {
		var files []File
		var before, after []entry
		if before, err = list(); err != nil {
			continue
		}
		if files, err = readAll(before); err != nil {
			continue
		}
		if after, err = list(); err == nil && slices.Equal(before, after) {
			return files, nil
		}
	}
	if err == nil {
		err = errChanging
	}
	return nil, err
}

func readAll(entries []entry) ([]File, error) {
	var files []File
	total := 0
	for _, e := range entries {
		data, err := e.read()
		if err != nil {
			return nil, err
		}
		if total += len(data); total > maxBytes {
			return nil, fmt.Errorf("%s and the files before it have more than %d MiB, "+
				"which is the limit for all of them together",
				e.path, maxBytes>>20)
		}
		files = append(files, File{e.name, data})
	}
	return files, nil
}

func (e entry) read() ([]byte, error) {
	// Check the type before opening the file, because opening a pipe waits for a writer.
	info, err := os.Stat(e.target)
	if err != nil {
		return nil, failed(e.path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", e.path)
	}
	f, err := os.Open(e.target)
	if err != nil {
		return nil, failed(e.path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, failed(e.path, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", e.path, maxFileBytes>>20)
	}
	return data, nil
}

// failed returns an error with the path that users know. The resolved path in err differs between versions of a volume,
// so one lasting error would look like a new error after each update.
func failed(path string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
