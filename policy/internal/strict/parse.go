package strict

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Document is one YAML document of a file, not decoded yet.
type Document struct {
	file string
	root *yaml.Node
}

// Parse splits a file into its documents; documents that are empty or hold only comments are left out. The error is
// of type Errors.
func Parse(file string, data []byte) ([]Document, error) {
	roots, err := parse(data)
	if err != nil {
		return nil, Errors{syntaxError(file, data, err)}
	}
	var docs []Document
	for _, root := range roots {
		if root.Kind != yaml.ScalarNode || root.Tag != "!!null" {
			docs = append(docs, Document{file, root})
		}
	}
	return docs, nil
}

func parse(data []byte) ([]*yaml.Node, error) {
	var roots []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return nil, err
		}
		roots = append(roots, n.Content[0])
	}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

// syntaxError takes the line number out of the parser's text, to print it as every other error has it.
func syntaxError(file string, data []byte, err error) Error {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		m = []string{"", "", err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	if line == 0 {
		line = lineOf(data, err)
	}
	return Error{Pos{File: file, Line: line, Column: 1}, "not valid YAML: " + m[2]}
}

// lineOf finds the line of an error that does not name it, as those of the first line, of control characters and of
// unknown anchors do not: it is the last of the fewest lines that make the same error.
func lineOf(data []byte, err error) int {
	var ends []int
	for i, c := range data {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	return 1 + sort.Search(len(ends), func(i int) bool {
		_, again := parse(data[:ends[i]])
		return again != nil && again.Error() == err.Error()
	})
}
