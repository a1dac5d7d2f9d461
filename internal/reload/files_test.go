package reload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/atomicdir"
)

func yamlFiles(name string) bool { return strings.HasSuffix(name, ".yaml") }

// write creates a tree of plain files in a new directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(data), 0o644))
	}
	return dir
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	must(t, os.Symlink(target, link))
}

func texts(files []File) map[string]string {
	m := map[string]string{}
	for _, f := range files {
		m[f.Name] = string(f.Data)
	}
	return m
}

func TestReadDir(t *testing.T) {
	dir := write(t, map[string]string{
		"b.yaml": "b", "a.yaml": "a", "notes.txt": "-", ".hidden.yaml": "-", "sub.yaml/c.yaml": "-",
	})
	elsewhere := write(t, map[string]string{"target": "linked"})
	symlink(t, filepath.Join(elsewhere, "target"), filepath.Join(dir, "c.yaml"))
	symlink(t, elsewhere, filepath.Join(dir, "d.yaml"))

	files, err := ReadDir(dir, yamlFiles)
	must(t, err)
	want := []File{{"a.yaml", []byte("a")}, {"b.yaml", []byte("b")}, {"c.yaml", []byte("linked")}}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
}

func TestReadDirOfVolume(t *testing.T) {
	volume := atomicdir.New(t)
	for _, want := range []map[string]string{
		{"a.yaml": "1", "b.yaml": "1"},
		{"b.yaml": "2"},
		{},
		{"c.yaml": "4"},
	} {
		volume.Write(want)
		files, err := ReadDir(volume.Path(), yamlFiles)
		must(t, err)
		if diff := cmp.Diff(want, texts(files)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReadFiles(t *testing.T) {
	dir := write(t, map[string]string{"tls.crt": "certificate"})
	crt, key, ca := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	symlink(t, "tls.crt", ca)
	files, err := ReadFiles(crt, key, ca)
	must(t, err)
	if diff := cmp.Diff([]File{{crt, []byte("certificate")}, {ca, []byte("certificate")}}, files); diff != "" {
		t.Errorf("a file that does not exist is left out, and one with two paths is read by both: %s", diff)
	}
}

func TestAbsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent")
	if files, err := ReadDir(path, yamlFiles); err != nil || files != nil {
		t.Errorf("ReadDir: %v, %v", files, err)
	}
	if files, err := ReadFiles(path); err != nil || files != nil {
		t.Errorf("ReadFiles: %v, %v", files, err)
	}
}

func TestReadErrors(t *testing.T) {
	for name, test := range map[string]struct {
		make func(t *testing.T, dir string)
		want string
	}{
		"too large": {
			func(t *testing.T, dir string) {
				must(t, os.Truncate(filepath.Join(dir, "a.yaml"), maxFileBytes+1))
			},
			"DIR/a.yaml is larger than 4 MiB",
		},
		"too large together": {
			func(t *testing.T, dir string) {
				for _, name := range []string{"b.yaml", "c.yaml"} {
					must(t, os.WriteFile(filepath.Join(dir, name), make([]byte, maxFileBytes), 0o644))
				}
			},
			"DIR/c.yaml and the files before it have more than 8 MiB, which is the limit for all of them together",
		},
		"too many": {
			func(t *testing.T, dir string) {
				for i := range maxFiles {
					symlink(t, filepath.Join(dir, "a.yaml"), filepath.Join(dir, fmt.Sprintf("%d.yaml", i)))
				}
			},
			"DIR contains 257 files, more than the limit of 256",
		},
		"not a file": {
			func(t *testing.T, dir string) { symlink(t, os.DevNull, filepath.Join(dir, "b.yaml")) },
			"DIR/b.yaml is not a regular file",
		},
		"link to nothing": {
			func(t *testing.T, dir string) { symlink(t, "nothing", filepath.Join(dir, "b.yaml")) },
			"DIR/b.yaml: no such file or directory",
		},
		"link to itself": {
			func(t *testing.T, dir string) { symlink(t, "b.yaml", filepath.Join(dir, "b.yaml")) },
			"DIR/b.yaml: EvalSymlinks: too many links",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"a.yaml": "a"})
			test.make(t, dir)
			_, err := ReadDir(dir, yamlFiles)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, strings.ReplaceAll(err.Error(), dir, "DIR")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Files at the size limit are read.
func TestReadAtTheBounds(t *testing.T) {
	dir, large := t.TempDir(), make([]byte, maxFileBytes)
	for i := range maxFiles {
		data := large
		if i >= maxBytes/maxFileBytes {
			data = nil
		}
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), data, 0o644))
	}
	if files, err := ReadDir(dir, yamlFiles); err != nil || len(files) != maxFiles {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// If an update of the volume crosses a list, the list contains files of two versions, so it is read again.
func TestChangedWhileRead(t *testing.T) {
	dir := write(t, map[string]string{"v1/a": "1", "v1/b": "1", "v2/a": "2", "v2/b": "2"})
	file := func(version, name string) entry {
		return entry{name, name, filepath.Join(dir, version, name)}
	}
	mixed, whole := []entry{file("v1", "a"), file("v2", "b")}, []entry{file("v2", "a"), file("v2", "b")}
	for name, test := range map[string]struct {
		lists [][]entry // the results of consecutive calls; further calls return the last one
		want  []File
		err   error
	}{
		"not changed":   {[][]entry{whole}, []File{{"a", []byte("2")}, {"b", []byte("2")}}, nil},
		"changed once":  {[][]entry{mixed, whole}, []File{{"a", []byte("2")}, {"b", []byte("2")}}, nil},
		"changed often": {slices.Repeat([][]entry{mixed, whole}, attempts), nil, errChanging},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			files, err := read(func() ([]entry, error) {
				calls++
				return test.lists[min(calls, len(test.lists))-1], nil
			})
			if diff := cmp.Diff(test.want, files); diff != "" || !errors.Is(err, test.err) {
				t.Errorf("%v, after %d calls: %s", err, calls, diff)
			}
		})
	}
}

// A version that is replaced and removed while it is read must not be visible: every read returns one complete version.
func TestVersionsAreNotMixed(t *testing.T) {
	volume := atomicdir.New(t)
	names := []string{"a.yaml", "b.yaml", "c.yaml", "d.yaml"}
	put := func(version int) {
		files := map[string]string{}
		for _, name := range names {
			files[name] = fmt.Sprint(version)
		}
		volume.Write(files)
	}
	var paths []string
	for _, name := range names {
		paths = append(paths, volume.Path(name))
	}
	whole := func(files []File, err error) bool {
		// A read that several changes cross may return an error, but never a mixture.
		return err != nil || len(files) == len(names) && !slices.ContainsFunc(files, func(f File) bool {
			return string(f.Data) != string(files[0].Data)
		})
	}

	put(0)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				if files, err := ReadDir(volume.Path(), yamlFiles); !whole(files, err) {
					t.Errorf("ReadDir mixed versions: %v", texts(files))
				}
				if files, err := ReadFiles(paths...); !whole(files, err) {
					t.Errorf("ReadFiles mixed versions: %v", texts(files))
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	const versions = 150
	for i := range versions {
		put(i + 1)
	}
	close(done)
	readers.Wait()

	files, err := ReadDir(volume.Path(), yamlFiles)
	if err != nil || string(files[0].Data) != fmt.Sprint(versions) {
		t.Errorf("after the last change: %v, %v", texts(files), err)
	}
}
