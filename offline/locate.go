package offline

import (
	"bufio"
	"bytes"
	"os"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/offline/output"
)

// locator finds the lines and columns of fields, for tools that show findings in the file. It reads a file again if
// it has findings, and it keeps one document in memory because results are in the order of the input.
type locator struct {
	open     func(file string) *yamlSplitter // returns nil for a file that cannot be read again
	file     string
	split    *yamlSplitter // of the file; nil if it cannot be read again
	document int           // the number of the document that has been read
	line     int           // the line of the file at which the document begins
	root     *yaml.Node    // nil if the file is not YAML, or is JSON with several documents
}

// place returns the place of a field of an object. If the field is absent, it returns the place of the nearest
// parent, or the beginning of the object.
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

// read reads the document of an object if it has not been read yet. It reports whether the document can be searched.
func (l *locator) read(at Origin) bool {
	if at.File != l.file || at.Document < l.document {
		*l = locator{open: l.open, file: at.File, split: l.open(at.File)}
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

// reopen reads a file again and returns its documents. It returns nil if name is not a regular file or is longer than
// maxYAML.
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

// fieldNode returns the node of a field (the node of its key, if it has one) or of its nearest parent in the
// document.
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

// child returns the node for a part of a path, and its value. Both are nil if the part does not exist.
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

// subject returns the reference of an object with the path of a field. It leaves out indices, so the subject stays
// the same if elements are added before the field.
func subject(reference, path string) string {
	if path == "" {
		return reference
	}
	return reference + ": " + elementIndex.ReplaceAllString(path, "[]")
}

var elementIndex = regexp.MustCompile(`\[\d+\]`)
