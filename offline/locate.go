package offline

import (
	"bufio"
	"bytes"
	"os"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/output"
)

// locator finds the lines and columns of fields, for reports whose readers see a file beside what was found in it. It
// reads a file again when something was found, and keeps one document: results are in the order of the input.
type locator struct {
	open     func(file string) *yamlSplitter // returns nil for a file that cannot be read again; nil for reopen
	file     string
	split    *yamlSplitter // of the file; nil where it cannot be read again
	document int           // that has been read
	line     int           // of the file, at which it begins
	root     *yaml.Node    // nil where it is no YAML, or JSON in which documents follow each other
}

// place returns where a field of an object stands; where it is absent, the nearest field around it; at least where the
// object begins.
func (l *locator) place(at Origin, path string) output.Place {
	begin := output.Place{File: at.File, Line: at.Line}
	if at.Line > 0 {
		begin.Column = 1
	}
	if at.File == "" || !l.read(at) {
		return begin
	}
	if at.Item > 0 {
		path = "items[" + strconv.Itoa(at.Item-1) + "]." + path
	}
	node := fieldNode(l.root, path)
	return output.Place{File: at.File, Line: l.line - 1 + node.Line, Column: node.Column}
}

// read reads the document of an object, unless it has been read, and reports whether that can be searched.
func (l *locator) read(at Origin) bool {
	if at.File != l.file || at.Document < l.document {
		*l = locator{open: l.open, file: at.File}
		if l.open == nil {
			l.open = reopen
		}
		l.split = l.open(at.File)
	}
	for l.split != nil && l.document < at.Document {
		doc, err := l.split.next()
		if err != nil {
			l.split, l.root = nil, nil
			return false
		}
		l.document++
		if l.document < at.Document {
			continue
		}
		var root yaml.Node
		l.line, l.root = doc.line, nil
		if yaml.Unmarshal(doc.text, &root) == nil && len(root.Content) > 0 {
			l.root = root.Content[0]
		}
	}
	return l.root != nil
}

// reopen returns the documents of a file once more; nil for what is no file, or a long one.
func reopen(name string) *yamlSplitter {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxYAML {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return splitterOf(data)
}

func splitterOf(text []byte) *yamlSplitter {
	return &yamlSplitter{r: bufio.NewReader(bytes.NewReader(text))}
}

// pathPart is a part of the path of a field: a name, an index, or a key in quotes.
var pathPart = regexp.MustCompile(`\[(\d+)\]|\["?([^"\]]*)"?\]|([^.\[\]]+)`)

// fieldNode returns the node of a field, its key where it has one, or of the nearest field around it that is there.
func fieldNode(root *yaml.Node, path string) *yaml.Node {
	value, found := root, root
	for _, part := range pathPart.FindAllStringSubmatch(path, -1) {
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		key, next := child(value, part)
		if next == nil {
			break
		}
		found, value = key, next
	}
	return found
}

// child returns the node that stands for a part of a path, and its value; nil where there is none.
func child(n *yaml.Node, part []string) (key, value *yaml.Node) {
	if index := part[1]; index != "" {
		i, err := strconv.Atoi(index)
		if err != nil || n.Kind != yaml.SequenceNode || i >= len(n.Content) {
			return nil, nil
		}
		return n.Content[i], n.Content[i]
	}
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == part[2]+part[3] {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// subject names a field of an object without indices, so that it is the same when elements are added before it.
func subject(reference, path string) string {
	if path == "" {
		return reference
	}
	return reference + ": " + elementIndex.ReplaceAllString(path, "[]")
}

var elementIndex = regexp.MustCompile(`\[\d+\]`)
