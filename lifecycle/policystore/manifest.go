package policystore

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// Unwrap replaces each file that contains the manifest of a ConfigMap by the policy files in that ConfigMap, in the
// order of their keys. The ConfigMap may be the only document, one of several, or an item of a List. If a key is
// written as a block (policy.yaml: |), positions in its errors are positions in the manifest. The mistakes in a
// manifest are in a file with its name. A file can have a warning about the limits of the ConfigMap.
func Unwrap(files []policy.File) []policy.File {
	var all []policy.File
	plain := map[string]any{} // the data of the ConfigMap for files without a manifest
	for _, f := range files {
		m := manifest{File: policy.File{Name: f.Name, Data: f.Data}}
		m.read()
		switch {
		case !m.isManifest:
			plain[filepath.Base(f.Name)] = string(f.Data)
			all = append(all, f)
			continue
		case len(m.keys) == 0 && len(m.Problems) == 0:
			m.problem(&yaml.Node{}, "no key of the ConfigMap ends in .yaml or .yml")
		}
		slices.SortStableFunc(m.keys, func(a, b key) int { return cmp.Compare(a.name, b.name) })
		for i, k := range m.keys {
			if i == 0 {
				k.file.Warnings = m.Warnings
			}
			all = append(all, k.file)
		}
		if len(m.Problems) > 0 {
			all = append(all, policy.File{Name: f.Name, Problems: m.Problems})
		}
	}
	object := map[string]any{ // as in the documentation
		"apiVersion": "v1", "kind": "ConfigMap", "data": plain,
		"metadata": map[string]any{"name": "evergate-policy", "namespace": "evergate-system"},
	}
	if long := cmp.Or(tooLong(object), annotated(object)); long != "" {
		all[0].Warnings = append(all[0].Warnings, policy.Problem{Message: long})
	}
	return all
}

// manifest is a file and the policy files found in its ConfigMaps.
type manifest struct {
	policy.File
	isManifest bool // the file contains a ConfigMap
	keys       []key
}

// key is a key of a ConfigMap whose value is a policy file.
type key struct {
	name string
	file policy.File
}

// read collects the policy files of a manifest. If the file is not valid YAML, it is a manifest only if it looks like
// one. Otherwise the file is a policy, and loading it reports its errors.
func (m *manifest) read() {
	if !bytes.Contains(m.Data, []byte("ConfigMap")) {
		return
	}
	dec := yaml.NewDecoder(bytes.NewReader(m.Data))
	for {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			m.isManifest = m.isManifest || bytes.Contains(m.Data, []byte("kind: ConfigMap"))
			if syntax := policy.SyntaxError(m.File); m.isManifest && syntax != nil {
				m.Problems = append(m.Problems, policy.Problems(policy.NotRendered(syntax, m.File))...)
			}
			return
		}
		m.object(doc.Content[0])
	}
}

// object adds the policy files in an object, or in the items of a List.
func (m *manifest) object(n *yaml.Node) {
	kind := scalar(field(n, "kind"))
	if items := field(n, "items"); strings.HasSuffix(kind, "List") && items != nil {
		for _, item := range items.Content {
			m.object(item)
		}
		return
	}
	if kind != "ConfigMap" {
		return
	}
	m.isManifest = true
	m.measure(n)
	m.data(field(n, "data"), func(value *yaml.Node, name string) {
		m.keys = append(m.keys, key{name, m.block(value, name)})
	})
	m.data(field(n, "binaryData"), func(value *yaml.Node, name string) {
		decoded, err := base64.StdEncoding.DecodeString(value.Value)
		if err != nil {
			m.problem(value, "binaryData.%s is not base64", text.Name(name))
			return
		}
		m.keys = append(m.keys, key{name, policy.File{Name: m.nameOf(name), Data: decoded}})
	})
}

// data calls add for the policy files in a data or binaryData field.
func (m *manifest) data(n *yaml.Node, add func(value *yaml.Node, name string)) {
	if n == nil {
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		at, name, value := n.Content[i], n.Content[i].Value, resolved(n.Content[i+1])
		switch first := seen[name]; {
		case !policy.IsFile(name):
		case first > 0:
			m.problem(at, "duplicate key %s, first set on line %d", text.Name(name), first)
		case value.Kind != yaml.ScalarNode:
			m.problem(value, "%s is not text: write a policy as %[1]s: |, with its lines indented below", text.Name(name))
		default:
			add(value, name)
		}
		seen[name] = at.Line
	}
}

// problem adds a mistake at a node of the manifest.
func (m *manifest) problem(at *yaml.Node, format string, args ...any) {
	m.Problems = append(m.Problems, policy.Problem{
		File: m.Name, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...),
	})
}

// block returns the policy file in the value of a key. A literal block keeps its lines and columns. In a quoted or
// folded value, positions in the manifest are not known, so errors contain the key and the position within its value.
func (m *manifest) block(value *yaml.Node, name string) policy.File {
	f := policy.File{Name: m.Name, Data: []byte(value.Value), Lines: value.Line}
	i := 0
	for line := range strings.SplitSeq(value.Value, "\n") {
		if strings.TrimSpace(line) != "" {
			if before, ok := strings.CutSuffix(m.line(value.Line+i), line); ok && value.Style&yaml.LiteralStyle != 0 &&
				strings.Trim(before, " ") == "" {
				f.Columns = utf8.RuneCountInString(before)
				return f
			}
			break
		}
		i++
	}
	return policy.File{Name: m.nameOf(name), Data: f.Data}
}

// line returns line n of the manifest, counted from 0, or "".
func (m *manifest) line(n int) string {
	for line := range bytes.Lines(m.Data) {
		if n--; n < 0 {
			return strings.TrimRight(string(line), "\r\n")
		}
	}
	return ""
}

// nameOf returns the name of a key for errors whose positions are relative to its value.
func (m *manifest) nameOf(name string) string { return m.Name + ": " + text.Name(name) }

// field returns the value of a field of a mapping, or nil if the field is absent.
func field(n *yaml.Node, name string) *yaml.Node {
	if n = resolved(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return resolved(n.Content[i+1])
		}
	}
	return nil
}

// scalar returns the text of a scalar node, or "" for other nodes.
func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// resolved returns the node that an alias refers to, and any other node unchanged.
func resolved(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
