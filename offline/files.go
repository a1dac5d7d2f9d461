package offline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
)

// Stdin is the path that represents standard input.
const Stdin = "-"

// Read is ReadIgnoring without patterns.
func Read(paths []string, stdin io.Reader) iter.Seq2[Object, error] {
	return ReadIgnoring(paths, stdin, nil)
}

// ReadIgnoring returns the objects in files, directories (recursively) and standard input, in the order of paths and of
// file names. It reads objects lazily. After an error it continues with the next object if it can. It yields a
// SkippedError for each path below a directory that it does not read, for example because it matches ignore or an
// IgnoreFile, and for documents that are not manifests.
func ReadIgnoring(paths []string, stdin io.Reader, ignore *Ignore) iter.Seq2[Object, error] {
	in := reader{stdin: stdin, ignore: ignore}
	return func(yield func(Object, error) bool) {
		for _, name := range paths {
			if !in.path(name, yield) {
				return
			}
		}
	}
}

// ReadText returns the objects in a text. Their origins have the name as their file.
func ReadText(name string, text io.Reader) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { reader{}.stream(name, text, yield) }
}

// reader contains the options for reading paths. Its methods return false if yield does.
type reader struct {
	stdin  io.Reader
	ignore *Ignore
	inDir  bool // files are found in a directory, and may be no manifests
}

// yieldFunc receives an object or an error. It returns false to receive no more.
type yieldFunc = func(Object, error) bool

func (in reader) path(name string, yield yieldFunc) bool {
	if name == Stdin {
		return in.stream("stdin", in.stdin, yield)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return in.dir(name, yield)
	}
	file, err := input.Open(name)
	return in.file(text.Path(name), file, err, yield)
}

// dir reads the files of a directory. Every path below it is read, skipped with a reason, or an error.
func (in reader) dir(dir string, yield yieldFunc) bool {
	in.inDir = true
	at := Origin{File: text.Path(dir)}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return yield(Object{}, at.fileError(err))
	}
	defer func() { _ = root.Close() }() // it was only read
	files := list(root, in.ignore)
	if len(files) == 0 {
		return yield(Object{}, at.Errorf("no file in this directory"))
	}
	skipped, read := false, false
	for _, f := range files {
		if !in.found(root, &f, func(object Object, err error) bool {
			_, skips := errors.AsType[*SkippedError](err)
			skipped, read = skipped || skips, read || !skips
			return yield(object, err)
		}) {
			return false
		}
	}
	if skipped && !read { // otherwise a check in CI would pass without any object
		return yield(Object{}, at.Errorf("no manifest in this directory: every file is skipped"))
	}
	return true
}

// maxTemplate is the maximum size in bytes of a template. Helm 3 limits the files of a chart to the same size.
const maxTemplate = 5 << 20

// file reads a file, or yields the error from opening it. Errors use name for it. A template in a directory is skipped.
func (in reader) file(name string, file *os.File, err error, yield yieldFunc) bool {
	if err != nil {
		return yield(Object{}, Origin{File: name}.fileError(err))
	}
	defer file.Close()
	var all io.Reader = file
	if in.inDir {
		head, _ := io.ReadAll(io.LimitReader(file, maxTemplate)) // its error comes again
		parses := func(_ Object, err error) bool {
			wrong, ok := asInputError(err)
			return !ok || !wrong.unparsed
		}
		if len(head) < maxTemplate && hasAction(head) && !in.stream(name, bytes.NewReader(head), parses) {
			return yield(Object{}, &SkippedError{name, whyTemplate})
		}
		all = io.MultiReader(bytes.NewReader(head), file)
	}
	return in.stream(name, all, yield)
}

// errEmpty is the error for empty input, for example from a broken pipeline. Without it, a check in CI would pass
// without any object.
var errEmpty = errors.New("no object in it")

// errUTF16 is the error about text in UTF-16. The YAML library decodes such a text, but it does not find more than
// one document in it.
var errUTF16 = errors.New("the input is UTF-16: save it as UTF-8")

// stream reads the objects in a text. It counts the documents that are not meant as manifests. If no document is, the
// file is skipped if it is in a directory. Otherwise the first document is an error.
func (in reader) stream(name string, r io.Reader, yield yieldFunc) bool {
	at := Origin{File: name}
	stream := newJSONStream(r, at)
	var last error
	foreign, read := 0, false
	if !stream.each(func(object Object, err error) bool {
		if other, ok := asInputError(err); ok && other.foreign {
			last = cmp.Or(last, err)
			foreign++
			return true
		}
		read, object.inDir = true, in.inDir
		return yield(object, err)
	}) {
		return false
	}
	switch documents := stream.documents(); {
	case documents == 0 && in.inDir: // it may be a placeholder
		last = &SkippedError{name, whyEmpty}
	case documents == 0:
		last = &inputError{Origin: at, Err: errEmpty}
	case foreign > 0 && read:
		last = &SkippedError{fmt.Sprintf("%s: %d of %s", name, foreign, text.Count(documents, "document")), whyForeign}
	case foreign > 0 && in.inDir:
		last = &SkippedError{name, whyForeign}
	}
	return last == nil || yield(Object{}, last)
}
