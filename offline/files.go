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
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// extensions are those that are read in a directory; a file that is named itself may have any.
var extensions = []string{".yaml", ".yml", ".json"}

// Read returns the objects of files, of directories with all that is beneath them, and of standard input, in the order
// of paths and of file names. It reads objects as they are asked for. An error leaves out what it names; the rest
// follows. Of a directory, files that hold no manifests are skipped: a SkippedError says so of each.
func Read(paths []string, stdin io.Reader) iter.Seq2[Object, error] {
	return ReadIgnoring(paths, stdin, nil)
}

// ReadIgnoring is Read without the files of directories that patterns ignore, beside those of each IgnoreFile.
func ReadIgnoring(paths []string, stdin io.Reader, ignore *Ignore) iter.Seq2[Object, error] {
	return reader{stdin: stdin, ignore: ignore}.read(paths)
}

// ReadOnce is ReadIgnoring for callers that keep no object: the JSON of one is valid until the next is read, so that a
// dump costs no memory for each.
func ReadOnce(paths []string, stdin io.Reader, ignore *Ignore) iter.Seq2[Object, error] {
	return reader{stdin: stdin, ignore: ignore, once: true}.read(paths)
}

// ReadText returns the objects in a text. Their origins have the name as their file.
func ReadText(name string, text io.Reader) iter.Seq2[Object, error] {
	return reader{}.stream(name, text)
}

// reader is how paths are read.
type reader struct {
	stdin  io.Reader
	ignore *Ignore
	once   bool // no object is kept
}

func (in reader) read(paths []string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for _, p := range paths {
			for object, err := range in.path(p) {
				if !yield(object, err) {
					return
				}
			}
		}
	}
}

func (in reader) path(name string) iter.Seq2[Object, error] {
	if name == Stdin {
		return in.stream("stdin", in.stdin)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return in.dir(name)
	}
	return in.file(text.Path(name), func() (*os.File, error) { return input.Open(name) })
}

// dir leaves hidden files and directories out: tools keep copies there, as kubelet does of a mounted ConfigMap.
func (in reader) dir(dir string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			yield(Object{}, Origin{File: text.Path(dir)}.fileError(err))
			return
		}
		defer func() { _ = root.Close() }() // it was only read
		files, repo, err := manifests(root, in.ignore)
		if err == nil && len(files) == 0 {
			err = errors.New("no *.yaml, *.yml or *.json file in this directory")
		}
		if err != nil {
			yield(Object{}, &inputError{Origin: Origin{File: text.Path(dir)}, Err: err})
			return
		}
		skipped, read := 0, 0
		for object, err := range in.found(root, files, repo) {
			if _, ok := errors.AsType[*SkippedError](err); ok {
				skipped++
			} else {
				read++
			}
			if !yield(object, err) {
				return
			}
		}
		if skipped > 0 && read == 0 { // a check in CI would pass on nothing
			const none = "no manifest in this directory: every file is skipped"
			yield(Object{}, &inputError{Origin: Origin{File: text.Path(dir)}, Err: errors.New(none)})
		}
	}
}

// found reads the files of a directory.
func (in reader) found(dir *os.Root, files []found, repo *repository) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for _, f := range files {
			name := text.Path(filepath.Join(dir.Name(), filepath.FromSlash(f.name)))
			why := f.why
			if why == "" {
				why = repo.why(f.name)
			}
			if why != "" {
				if !yield(Object{}, &SkippedError{name, why}) {
					return
				}
				continue
			}
			for object, err := range in.file(name, func() (*os.File, error) { return input.OpenIn(dir, f.name) }) {
				if errors.Is(err, errEmpty) {
					continue // in a directory it may be a placeholder
				}
				if skipped := skips(name, err); skipped != nil {
					err = skipped
				}
				if !yield(object, err) {
					return
				}
			}
		}
	}
}

// found is a file of a directory, whose path is relative to that.
type found struct {
	name string
	why  string // it is skipped by its path alone; empty for others
}

// manifests lists the files beneath dir that have the extensions of manifests, in the order of their names. Of an
// ignored directory it lists nothing but that.
func manifests(dir *os.Root, ignore *Ignore) ([]found, *repository, error) {
	var files []found
	patterns := ignores{flags: ignore}
	repo := newRepository(dir)
	err := fs.WalkDir(dir.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case name != "." && patterns.ignored(name, entry.IsDir()):
			if entry.IsDir() {
				files = append(files, found{name + "/", whyIgnored})
				return fs.SkipDir
			}
			if isManifest(name) {
				files = append(files, found{name, whyIgnored})
			}
		case entry.IsDir():
			return patterns.enter(dir, name)
		default:
			repo.add(name)
			if isManifest(name) {
				files = append(files, found{name, ""})
			}
		}
		return nil
	})
	return files, repo, err
}

// file reads the file that open opens. name is what errors call it.
func (in reader) file(name string, open func() (*os.File, error)) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		file, err := open()
		if err != nil {
			yield(Object{}, Origin{File: name}.fileError(err))
			return
		}
		defer file.Close()
		for object, err := range in.stream(name, file) {
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

// stream reads text as the format that its beginning shows: JSON objects begin with a brace. YAML that begins so
// too is read as YAML if its file is called .yaml or .yml, or if a word without quotes stands where JSON has none.
func (in reader) stream(name string, r io.Reader) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		at := Origin{File: name}
		// So many bytes are enough to see past the blank lines that a file may begin with, and the first words of YAML.
		text := bufio.NewReader(r)
		head, _ := text.Peek(1 << 10) // its error comes again
		var stream objectStream
		if beginsJSON(head) && !strings.HasPrefix(path.Ext(name), ".y") {
			json := newJSONStream(text, at)
			json.once = in.once
			stream = json
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
			yield(Object{}, &inputError{Origin: at, Err: errEmpty})
		}
	}
}

// beginsJSON reports whether a text begins like JSON. {kind: Pod} is YAML: where JSON wants a value in quotes, or a
// number, it has a word, a quote of one stroke, a comment, an anchor or an alias.
func beginsJSON(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true))
	for {
		_, err := dec.ReadToken()
		syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
		switch {
		case err == nil && dec.StackDepth() == 0:
			return true // a whole object
		case err == nil:
		case !ok || errors.Is(err, io.ErrUnexpectedEOF) || syntactic.ByteOffset >= int64(len(head)):
			return true // as far as it has been read
		default:
			return !beginsPlain(head[syntactic.ByteOffset])
		}
	}
}

// beginsPlain reports whether a character begins a value in YAML, and none in JSON.
func beginsPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || bytes.IndexByte([]byte("_./'#&*!"), c) >= 0
}
