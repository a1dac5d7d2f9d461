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
	// maxFileBytes bounds one file: four times what a whole ConfigMap or Secret can hold, so that only a mistaken path
	// (a log, a disk image) meets it, and the process is not filled with it.
	maxFileBytes = 4 << 20

	// maxBytes bounds all files that are read together, so that a directory of 256 large ones does not fill it either.
	// It is the limit of a policy's text too.
	maxBytes = 8 << 20

	// maxFiles bounds a directory: a key for each of some hundred teams, but not a source tree.
	maxFiles = 256

	// attempts is how often a read that was crossed by a change is begun anew. One is enough for kubelet, which
	// changes a volume once a minute at most.
	attempts = 5

	// dataLink is the symlink through which kubelet shows all files of a ConfigMap, Secret or projected volume. Each
	// version is a directory of its own that never changes; an update renames a new dataLink over the old one and then
	// removes the old directory (AtomicWriter, k8s.io/kubernetes/pkg/volume/util).
	dataLink = "..data"
)

var errChanging = errors.New("the files change faster than they can be read")

// File is a file as it was read.
type File struct {
	Name string // the path given to ReadFiles, or the name within the directory given to ReadDir
	Data []byte
}

// ReadFiles reads those of the named files that exist, all of one version if they lie in one volume. A file that does
// not exist is left out: the caller decides whether it can do without.
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
// Names that begin with a dot and subdirectories are not looked at. A directory that does not exist has no files.
func ReadDir(dir string, keep func(name string) bool) ([]File, error) {
	return read(func() ([]entry, error) {
		version, err := filepath.EvalSymlinks(filepath.Join(dir, dataLink))
		if errors.Is(err, fs.ErrNotExist) { // not a volume: a plain directory
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

// list finds the files of dir, whose content at this time is in the directory version.
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
		return nil, fmt.Errorf("%s holds %d files, more than the %d that are read", dir, len(entries), maxFiles)
	}
	return entries, nil
}

// entry is a file to be read.
type entry struct {
	name   string
	path   string // as errors name it
	target string // with every symlink resolved: it tells one version of a volume from the next
}

// read reads the files that list finds. It calls list again afterwards: if both lists are the same, no version was
// exchanged, nor its removal begun, while the files were read.
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
			return nil, fmt.Errorf("%s and the files before it hold more than %d MiB, "+
				"which is the limit for all of them together",
				e.path, maxBytes>>20)
		}
		files = append(files, File{e.name, data})
	}
	return files, nil
}

func (e entry) read() ([]byte, error) {
	// Asked before it is opened: to open a pipe waits for a writer.
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

// failed names the file as users know it. The resolved path in err differs between versions of a volume, so that one
// lasting error would look like a new one after each update.
func failed(path string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
