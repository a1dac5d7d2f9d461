// Package input opens files whose names and contents a stranger may have chosen, such as the files of a pull request.
// Opening one never waits, and a directory never leads out of itself.
package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/evergate/evergate/internal/text"
)

// ErrNotRegular is the error for a device, a socket or a named pipe. Reading one could wait, or never end.
var ErrNotRegular = errors.New("not a regular file: to read a pipe, write - and connect it to standard input")

// ErrOutside is the error for a symbolic link that leads out of the directory or is absolute.
var ErrOutside = errors.New("a symbolic link that is absolute or leads out of the directory")

// Open opens a file that the user has named. It may be a symbolic link. It must be a regular file, or a pipe that the
// user's shell has opened: /dev/stdin, and /dev/fd/63 of <(command). Errors are of type *fs.PathError.
func Open(name string) (*os.File, error) {
	return regular(name, isDescriptor(name), func(flag int) (*os.File, error) { return os.OpenFile(name, flag, 0) })
}

// OpenIn opens a file of a directory. A symbolic link that leads out of the directory is an error, and so is anything
// but a regular file. Errors are of type *fs.PathError.
func OpenIn(dir *os.Root, name string) (*os.File, error) {
	return regular(name, false, func(flag int) (*os.File, error) {
		file, err := dir.OpenFile(name, flag, 0)
		return file, outside(name, err)
	})
}

// Link reports whether a symbolic link in a directory leads to a directory. A link that leads nowhere, or to a
// directory outside, is an error of type *fs.PathError.
func Link(dir *os.Root, name string) (toDir bool, err error) {
	info, err := dir.Stat(name)
	if err == nil {
		return info.IsDir(), nil
	}
	if target, failed := os.Stat(filepath.Join(dir.Name(), name)); failed == nil && !target.IsDir() {
		return false, nil // OpenIn does not open it
	}
	return false, outside(name, err)
}

// outside returns the error for a path that leads out of a directory, and any other error unchanged.
func outside(name string, err error) error {
	if err != nil && strings.HasSuffix(err.Error(), "path escapes from parent") { // package os exports no such error
		return &fs.PathError{Op: "open", Path: name, Err: ErrOutside}
	}
	return err
}

// Read returns the content of a file that Open accepts. More than limit bytes are an error.
func Read(name string, limit int64) ([]byte, error) { return read(name, limit, Open) }

// ReadIn returns the content of a file that OpenIn accepts. More than limit bytes are an error.
func ReadIn(dir *os.Root, name string, limit int64) ([]byte, error) {
	return read(name, limit, func(name string) (*os.File, error) { return OpenIn(dir, name) })
}

func read(name string, limit int64, open func(name string) (*os.File, error)) ([]byte, error) {
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		long := fmt.Errorf("it has more than %s bytes, which is the limit", text.Thousands(int(limit)))
		err = &fs.PathError{Op: "read", Path: name, Err: long}
	}
	return data, err
}

// regular opens a file without waiting for a writer, as opening a named pipe would.
func regular(name string, pipe bool, open func(flag int) (*os.File, error)) (*os.File, error) {
	file, err := open(os.O_RDONLY | nonblock)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !pipe {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
		if info.IsDir() {
			err = &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
		}
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

// isDescriptor reports whether a name is a descriptor that this process was started with.
func isDescriptor(name string) bool {
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}
