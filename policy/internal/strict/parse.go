package strict

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// Documents yields the YAML documents of a file, one after the other, so that only one is in memory at a time. It skips
// those that are empty or have only comments.
func (d *Decoder) Documents(file string, data []byte) func(yield func(Document) bool) {
	return func(yield func(Document) bool) {
		if d.Stopped() {
			return
		}
		d.file = file
		m := &meter{ctx: d.ctx, data: data, values: &d.values, limits: &d.limits, bol: true}
		dec := yaml.NewDecoder(m)
		for {
			root, err := next(dec)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				d.notYAML(m, err)
				return
			}
			empty := root.Kind == yaml.ScalarNode && root.Tag == "!!null"
			if !empty && !yield(Document{root}) || d.Stopped() {
				return
			}
		}
	}
}

func next(dec *yaml.Decoder) (*yaml.Node, error) {
	var n yaml.Node
	if err := dec.Decode(&n); err != nil {
		return nil, err
	}
	return n.Content[0], nil
}

// notYAML files an error about a file that was not parsed to its end.
func (d *Decoder) notYAML(m *meter, err error) {
	limit, exceeded := errors.AsType[limitError](m.err)
	switch {
	case exceeded:
		d.exceed(Pos{File: d.file, Line: lineAt(m.data, m.given), Column: 1}, limit)
	case m.err != nil:
		d.stopped = context.Cause(d.ctx)
	default:
		d.errs.Add(syntaxError(d.file, m, err))
	}
}

// lineAt returns the line of the byte at an offset.
func lineAt(data []byte, i int) int { return 1 + bytes.Count(data[:i], []byte("\n")) }

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

// syntaxError splits the parser's text into line number and reason, so that the error has the form of all others.
func syntaxError(file string, m *meter, err error) Error {
	match := yamlLine.FindStringSubmatch(err.Error())
	if match == nil {
		match = []string{"", "", err.Error()}
	}
	line, _ := strconv.Atoi(match[1])
	if line == 0 {
		line = m.lineOf(match[2])
	}
	return Pos{File: file, Line: line, Column: 1}.Errorf("not valid YAML: %s", text.Printable(match[2], maxMsg/2))
}

// lineOf returns the line of an error that has none: those about characters, unknown anchors and the first line.
func (m *meter) lineOf(msg string) int {
	if name, ok := strings.CutPrefix(msg, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		if i := bytes.LastIndex(m.data[:m.given], []byte("*"+name)); i >= 0 {
			return lineAt(m.data, i)
		}
	}
	if strings.Contains(msg, "UTF-8") || strings.Contains(msg, "control characters") {
		return lineAt(m.data, max(0, m.given-1)) // the parser finds it when it reads the line
	}
	return 1
}
