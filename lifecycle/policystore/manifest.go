package policystore

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// Unwrap replaces each file that contains the manifest of a ConfigMap by the policy files in that ConfigMap, in the
// order of their keys. The ConfigMap may be the only document, one of several, or an item of a List. If a key is
// written as a block (policy.yaml: |), positions in its errors are positions in the manifest. A manifest that is not
// valid YAML is an error with line and column.
func Unwrap(files []policy.File) ([]policy.File, error) {
	var all []policy.File
	for _, f := range files {
		m := manifest{File: f}
		switch err := m.read(); {
		case err != nil:
			return nil, err
		case !m.isManifest:
			all = append(all, f)
		case len(m.keys) == 0:
			return nil, fmt.Errorf("%s: no key of the ConfigMap ends in .yaml or .yml", f.Name)
		default:
			slices.SortStableFunc(m.keys, func(a, b key) int { return cmp.Compare(a.name, b.name) })
			for _, k := range m.keys {
				all = append(all, k.file)
			}
		}
	}
	return all, nil
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

// read collects the policy files of a manifest. If the file is not valid YAML, read returns an error only if it looks
// like a manifest. Otherwise the file is a policy, and loading it reports its errors.
func (m *manifest) read() error {
	if !bytes.Contains(m.Data, []byte("ConfigMap")) {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(m.Data))
	for {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			if m.isManifest || bytes.Contains(m.Data, []byte("kind: ConfigMap")) {
				return policy.NotRendered(policy.SyntaxError(m.File), m.File)
			}
			return nil
		}
		if err := m.object(doc.Content[0]); err != nil {
			return err
		}
	}
}

// object adds the policy files in an object, or in the items of a List.
func (m *manifest) object(n *yaml.Node) error {
	kind := scalar(field(n, "kind"))
	if items := field(n, "items"); strings.HasSuffix(kind, "List") && items != nil {
		for _, item := range items.Content {
			if err := m.object(item); err != nil {
				return err
			}
		}
		return nil
	}
	if kind != "ConfigMap" {
		return nil
	}
	m.isManifest = true
	return errors.Join(
		m.data(field(n, "data"), func(value *yaml.Node, name string) (policy.File, error) {
			return m.block(value, name), nil
		}),
		m.data(field(n, "binaryData"), func(value *yaml.Node, name string) (policy.File, error) {
			decoded, err := base64.StdEncoding.DecodeString(value.Value)
			if err != nil {
				return policy.File{}, m.errorf(value, "binaryData.%s is not base64", text.Name(name))
			}
			return policy.File{Name: m.nameOf(name), Data: decoded}, nil
		}))
}

// data adds the policy files in a data or binaryData field.
func (m *manifest) data(n *yaml.Node, file func(value *yaml.Node, name string) (policy.File, error)) error {
	if n == nil {
		return nil
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, resolved(n.Content[i+1])
		if !policy.IsFile(name) {
			continue
		}
		at := n.Content[i]
		if first := seen[name]; first > 0 {
			return m.errorf(at, "duplicate key %s, first set on line %d", text.Name(name), first)
		}
		if seen[name] = at.Line; value.Kind != yaml.ScalarNode {
			return m.errorf(value, "%s is not text: write a policy as %[1]s: |, with its lines indented below", text.Name(name))
		}
		f, err := file(value, name)
		if err != nil {
			return err
		}
		m.keys = append(m.keys, key{name, f})
	}
	return nil
}

// errorf returns an error with the position of a node in the manifest.
func (m *manifest) errorf(at *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", m.Name, at.Line, at.Column, fmt.Sprintf(format, args...))
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
