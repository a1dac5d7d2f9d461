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
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
)

// Stdin is the path that represents standard input.
const Stdin = "-"

// Read returns the objects in files, directories (recursively) and standard input, in the order of paths and of file
// names. It reads objects lazily. After an error it continues with the next object if it can. In a directory it skips
// files without manifests and yields a SkippedError for each.
func Read(paths []string, stdin io.Reader) iter.Seq2[Object, error] {
	return ReadIgnoring(paths, stdin, nil)
}

// ReadIgnoring is like Read, but in directories it also skips the files that match ignore or an IgnoreFile.
func ReadIgnoring(paths []string, stdin io.Reader, ignore *Ignore) iter.Seq2[Object, error] {
	return reader{stdin: stdin, ignore: ignore}.read(paths)
}

// ReadOnce is like ReadIgnoring, for callers that do not retain objects. The JSON of an object is valid only until
// the next object is read. Memory therefore does not grow with the number of objects in a dump.
func ReadOnce(paths []string, stdin io.Reader, ignore *Ignore) iter.Seq2[Object, error] {
	return reader{stdin: stdin, ignore: ignore, once: true}.read(paths)
}

// ReadText returns the objects in a text. Their origins have the name as their file.
func ReadText(name string, text io.Reader) iter.Seq2[Object, error] {
	return reader{}.stream(name, text)
}

// reader contains the options for reading paths.
type reader struct {
	stdin  io.Reader
	ignore *Ignore
	once   bool // no object is kept
	inDir  bool // files are found in a directory, and may be no manifests
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

// dir skips hidden files and directories, because tools keep copies there.
func (in reader) dir(dir string) iter.Seq2[Object, error] {
	in.inDir = true
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
		if skipped > 0 && read == 0 { // otherwise a check in CI would pass without any object
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
			if strings.HasSuffix(f.name, "/") {
				name += "/" // a directory that is skipped as a whole
			}
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
					continue // an empty file in a directory may be a placeholder
				}
				if !yield(object, err) {
					return
				}
			}
		}
	}
}

// found is a file in a directory. Its name is relative to the directory.
type found struct {
	name string
	why  string // the reason to skip the file because of its path; empty if it is read
}

// manifests lists the files below dir that have an extension of manifests, sorted by name. It lists an ignored
// directory, but not its contents.
func manifests(dir *os.Root, ignore *Ignore) ([]found, *repository, error) {
	var files []found
	patterns := ignores{flags: ignore}
	repo := newRepository(dir)
	err := fs.WalkDir(dir.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			counted := entry.Name() != ".git" && !strings.HasPrefix(entry.Name(), "..") // kubelet links to directories ..2026
			if entry.IsDir() {
				if counted {
					files = append(files, found{name + "/", whyHidden})
				}
				return fs.SkipDir
			}
			if counted && isManifest(name) {
				files = append(files, found{name, whyHidden})
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

// file reads the file that open opens. Errors use name for it.
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

// objectStream is the common interface of both formats.
type objectStream interface {
	next() (Object, error)     // io.EOF after the last object
	documents() int            // the number of documents begun so far
	claims() bool              // a document so far has an apiVersion or a kind
	mayClaim(head []byte) bool // a document that cannot be decoded may have one of them
}

// errEmpty is the error for empty input, for example from a broken pipeline. Without it, a check in CI would pass
// without any object.
var errEmpty = errors.New("no object in it")

// errUTF16 is the error about text in UTF-16. The YAML library decodes such a text, but it does not find more than
// one document in it.
var errUTF16 = errors.New("the input is UTF-16: save it as UTF-8")

// stream detects the format from the beginning of the text. JSON objects begin with a brace. YAML can begin with a
// brace too. Such text is read as YAML if the file name ends in .yaml or .yml, or if an unquoted word is in a place
// where JSON does not allow it.
func (in reader) stream(name string, r io.Reader) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		at := Origin{File: name}
		// So many bytes are enough to see past the blank lines that a file may begin with, and the first words of YAML.
		input := bufio.NewReader(r)
		head, _ := input.Peek(1 << 10) // its error comes again
		head = bytes.Clone(head)
		if text.IsUTF16(head) {
			var err error = &inputError{Origin: at, Err: errUTF16}
			// Latin letters remain, without the byte order mark.
			head = bytes.TrimLeftFunc(bytes.ReplaceAll(head, []byte{0}, nil), func(c rune) bool { return c >= utf8.RuneSelf })
			if in.inDir && !claimsKind(head) {
				err = &SkippedError{name, whyForeign}
			}
			yield(Object{}, err)
			return
		}
		var stream objectStream
		if beginsJSON(head) && !strings.HasPrefix(strings.ToLower(path.Ext(name)), ".y") {
			json := newJSONStream(input, at)
			json.once = in.once
			stream = json
		} else {
			stream = newYAMLStream(input, at)
		}
		var doubts foreign
		report := func() bool {
			for _, err := range doubts.errs {
				if !yield(Object{}, err) {
					return false
				}
			}
			doubts.errs = nil
			return true
		}
		found := false
		for {
			object, err := stream.next()
			if err == io.EOF { //nolint:errorlint // next promises io.EOF itself
				break
			}
			if in.inDir {
				object.inDir = true
				if broken, ok := asInputError(err); ok && broken.template {
					err = &SkippedError{name, whyTemplate}
				}
				if doubts.take(err) {
					continue
				}
			}
			if found = found || err == nil; found && !report() || !yield(object, err) {
				return
			}
		}
		switch {
		case stream.documents() == 0:
			yield(Object{}, &inputError{Origin: at, Err: errEmpty})
		case len(doubts.errs) == 0:
		case found || stream.claims() || stream.mayClaim(head):
			report()
		default:
			yield(Object{}, &SkippedError{name, doubts.why(name)})
		}
	}
}

// beginsJSON reports whether a text begins like JSON. {kind: Pod} is YAML: it has a word, a single quote, a comment,
// an anchor or an alias in a place where JSON requires a quoted string or a number.
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
			return true // a complete object
		case err == nil:
		case !ok || errors.Is(err, io.ErrUnexpectedEOF) || syntactic.ByteOffset >= int64(len(head)):
			return true // valid JSON as far as it has been read
		default:
			return !beginsPlain(head[syntactic.ByteOffset])
		}
	}
}

// beginsPlain reports whether a character begins a value in YAML but not in JSON.
func beginsPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || bytes.IndexByte([]byte("_./'#&*!"), c) >= 0
}
