package offline

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// extensions are those that are read in a directory; a file that is named itself may have any.
var extensions = []string{".yaml", ".yml", ".json"}

// Read returns the objects of files, of directories with all that is beneath them, and of standard input, in the order
// of paths and of file names. It reads objects as they are asked for. An error leaves out what it names; the rest
// follows.
func Read(paths []string, stdin io.Reader) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for _, p := range paths {
			for object, err := range readPath(p, stdin) {
				if !yield(object, err) {
					return
				}
			}
		}
	}
}

func readPath(name string, stdin io.Reader) iter.Seq2[Object, error] {
	if name == Stdin {
		return readStream("stdin", stdin)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return readDir(name)
	}
	return readFile(name)
}

// readDir leaves hidden files and directories out: tools keep copies there, as kubelet does of a mounted ConfigMap.
func readDir(dir string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		files, err := manifests(dir)
		if err == nil && len(files) == 0 {
			err = errors.New("no *.yaml, *.yml or *.json file in this directory")
		}
		if err != nil {
			yield(Object{}, &inputError{Origin{File: dir}, err})
			return
		}
		for _, name := range files {
			for object, err := range readFile(name) {
				if errors.Is(err, errEmpty) {
					continue // in a directory it may be a placeholder
				}
				if !yield(object, err) {
					return
				}
			}
		}
	}
}

// manifests lists the files beneath dir that are read, in the order of their names.
func manifests(dir string) ([]string, error) {
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && slices.Contains(extensions, path.Ext(name)):
			files = append(files, filepath.Join(dir, name))
		}
		return nil
	})
	return files, err
}

func readFile(name string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		file, err := os.Open(name)
		if err != nil {
			yield(Object{}, Origin{File: name}.fileError(err))
			return
		}
		defer file.Close()
		for object, err := range readStream(name, file) {
			if !yield(object, err) {
				return
			}
		}
	}
}

// objectStream is what both formats are read as.
type objectStream interface {
	next() (Object, error) // io.EOF when there is none left
	documents() int        // begun so far
}

// errEmpty is the error of empty input, as from a broken pipeline: without it, a check in CI would pass on nothing.
var errEmpty = errors.New("no object in it")

// readStream reads text as the format that its first character shows: JSON objects begin with a brace. YAML that begins
// so too is read as YAML if its file is called .yaml or .yml.
func readStream(name string, r io.Reader) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		at := Origin{File: name}
		text := bufio.NewReader(r)
		// So many bytes are enough to see past the blank lines that a file may begin with.
		head, _ := text.Peek(512) // its error comes again
		var stream objectStream
		if beginsJSON(head) && !strings.HasPrefix(path.Ext(name), ".y") {
			stream = newJSONStream(text, at)
		} else {
			stream = newYAMLStream(text, at)
		}
		for {
			object, err := stream.next()
			if err == io.EOF { //nolint:errorlint // next promises io.EOF itself
				break
			}
			if !yield(object, err) {
				return
			}
		}
		if stream.documents() == 0 {
			yield(Object{}, &inputError{at, errEmpty})
		}
	}
}

func beginsJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}
