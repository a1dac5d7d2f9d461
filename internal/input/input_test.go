package input

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// tree returns a directory with files of each type. A file next to it must not be reachable with links from the
// directory.
func tree(t *testing.T) string {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "dir")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(parent, "outside"), []byte("outside"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	for name, target := range map[string]string{
		"link": "file", "sub/up": "../file", "zero": "/dev/zero", "out": "../outside", "tofifo": "fifo", "loop": "loop",
		"absolute": filepath.Join(parent, "outside"),
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	return dir
}

func TestOpen(t *testing.T) {
	dir := tree(t)
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { must(t, root.Close()) }()
	for _, test := range []struct {
		name          string
		named, listed bool // whether Open and OpenIn succeed
	}{
		{"file", true, true},
		{"link", true, true},
		{"sub/up", true, true},
		{"out", true, false},
		{"absolute", true, false},
		{"zero", false, false},
		{"fifo", false, false},
		{"tofifo", false, false},
		{"sub", false, false},
		{"loop", false, false},
		{"absent", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			check(t, test.named)(Open(filepath.Join(dir, test.name)))
			check(t, test.listed)(OpenIn(root, test.name))
			_, err := OpenIn(root, test.name)
			outside := slices.Contains([]string{"out", "absolute", "zero"}, test.name)
			if errors.Is(err, ErrOutside) != outside {
				t.Errorf("OpenIn: %v, want ErrOutside: %t", err, outside)
			}
		})
	}
}

// check returns a function that checks the result of opening a file.
func check(t *testing.T, opens bool) func(*os.File, error) {
	return func(file *os.File, err error) {
		t.Helper()
		if (err == nil) != opens {
			t.Errorf("error %v, want it to open: %t", err, opens)
		}
		if _, ok := errors.AsType[*fs.PathError](err); err != nil && !ok {
			t.Errorf("error %#v is no *fs.PathError", err)
		}
		if err == nil {
			_, err = io.ReadAll(file)
			must(t, errors.Join(err, file.Close()))
		}
	}
}

func TestOpenDescriptor(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	_, err = w.WriteString("kind: Pod")
	must(t, errors.Join(err, w.Close()))
	data, err := Read("/dev/fd/"+strconv.Itoa(int(r.Fd())), 100)
	if string(data) != "kind: Pod" || err != nil {
		t.Errorf("Read = %q, %v", data, err)
	}
}

func TestReadLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(name, make([]byte, 1<<20), 0o600))
	if data, err := Read(name, 1<<20); len(data) != 1<<20 || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := Read(name, 1<<20-1); err == nil {
		t.Error("a longer file was read")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
