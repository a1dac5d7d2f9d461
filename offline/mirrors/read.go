package mirrors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// File is a file with a table.
type File struct {
	Name string // its path
	Data []byte
}

// errorAt returns an error with the place of a mistake.
func errorAt(file string, line int, format string, args ...any) error {
	return fmt.Errorf("%s: %s", Origin{text.Path(file), line}, fmt.Sprintf(format, args...))
}

// Read reads the tables in files as one table. Different mirrors for one prefix are an error. Rows for images with a
// tag are joined with rows for images with a digest.
func Read(files []File) (Table, error) {
	var table Table
	for _, f := range files {
		rows, err := f.read()
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, errorAt(f.Name, 1, "the table is empty: it has no mirrors")
		}
		for _, r := range rows {
			if err := table.add(r); err != nil {
				return nil, err
			}
		}
	}
	return table, nil
}

// add adds a row.
func (t *Table) add(r Row) error {
	i := slices.IndexFunc(*t, func(o Row) bool { return o.Prefix == r.Prefix && len(o.Matches)+len(r.Matches) == 0 })
	if i < 0 {
		*t = append(*t, r)
		return nil
	}
	old := &(*t)[i]
	switch {
	case old.String() == r.String():
	case old.isOnly(Digests) && r.isOnly(Tags) || old.isOnly(Tags) && r.isOnly(Digests):
		old.join(r)
	default:
		return fmt.Errorf("%s has different mirrors: %s: %s; %s: %s", text.Name(r.Prefix), old.At, old, r.At, &r)
	}
	return nil
}

func (r *Row) isOnly(k Kind) bool {
	return len(r.Mirrors) > 0 && !slices.ContainsFunc(r.Mirrors, func(m Mirror) bool { return m.Only != k })
}

// join adds the mirrors for the other kind of images. The same mirrors for both kinds are mirrors for all images.
func (r *Row) join(o Row) {
	same := slices.EqualFunc(r.Mirrors, o.Mirrors, func(a, b Mirror) bool { return a.Place == b.Place })
	if same {
		for i := range r.Mirrors {
			r.Mirrors[i].Only = All
		}
	} else {
		r.Mirrors = append(r.Mirrors, o.Mirrors...)
	}
	r.Fallback = r.Fallback && o.Fallback
}

// String returns the result of a row: mirrors, rewrites and fallback.
func (r *Row) String() string {
	var parts []string
	for _, m := range r.Mirrors {
		parts = append(parts, m.Place+m.Note+[...]string{All: "", Digests: " for digests", Tags: " for tags"}[m.Only])
	}
	for _, w := range r.Rewrites {
		parts = append(parts, w.Pattern.String()+" → "+w.Replacement)
	}
	if r.Fallback {
		parts = append(parts, "then "+r.Prefix)
	}
	return strings.Join(parts, ", ")
}

// read reads the rows of a file. The first line that is not a comment shows whether it is TOML or YAML.
func (f File) read() ([]Row, error) {
	f.Name = filepath.ToSlash(f.Name)
	isTOML := regexp.MustCompile(`\A(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:\[\[?[\w."-]|[\w."-]+[ \t]*=)`)
	hosts := regexp.MustCompile(`(?m)\A# .*/hosts\.toml$|^(?:server[ \t]*=|\[[ \t]*host[ \t]*\.)`)
	switch {
	case isTOML.Match(f.Data) && (filepath.Base(f.Name) == "hosts.toml" || hosts.Match(f.Data)):
		return f.hostsTOML()
	case isTOML.Match(f.Data):
		return f.registriesConf()
	}
	return f.yaml()
}

// yaml reads the rows of a file with YAML documents.
func (f File) yaml() (rows []Row, err error) {
	d := yaml.NewDecoder(bytes.NewReader(f.Data))
	for {
		var doc yaml.Node
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return nil, f.yamlError(err)
		}
		more, err := f.document(doc.Content[0])
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
}

// document reads the rows of a YAML document.
func (f File) document(n *yaml.Node) ([]Row, error) {
	kind, keys := field(n, "kind"), keysOf(n)
	switch {
	case kind != nil && kind.Value == "List" || kind != nil && strings.HasSuffix(kind.Value, "SetList"):
		var rows []Row
		for _, item := range contentOf(field(n, "items")) {
			more, err := f.document(item)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
		return rows, nil
	case kind != nil:
		return f.openShift(n, kind)
	case slices.Contains(keys, "rules"):
		return f.harbor(n)
	case slices.Contains(keys, "mirrors") || slices.Contains(keys, "configs"):
		return f.k3s(n)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil, nil
	}
	return nil, errorAt(f.Name, n.Line, "it is not a table of mirrors: use objects of OpenShift, registries.conf, "+
		"hosts.toml, registries.yaml or the rules of harbor-container-webhook")
}

// decode decodes a mapping into a struct. A field that the struct does not have is an error.
func (f File) decode(n *yaml.Node, into any) error {
	known := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		known[field.Tag.Get("yaml")] = true
	}
	for i, key := range keysOf(n) {
		if !known[key] {
			return errorAt(f.Name, n.Content[2*i].Line, "unknown field %s: use %s", text.Name(key),
				text.ListUpTo(len(known), slices.Sorted(maps.Keys(known))))
		}
	}
	if err := n.Decode(into); err != nil {
		return f.yamlError(err)
	}
	return nil
}

// yamlError returns an error of the YAML decoder with the file and the line.
func (f File) yamlError(err error) error {
	parts := regexp.MustCompile(`(?s)line (\d+): (.*)`).FindStringSubmatch(err.Error())
	if parts == nil {
		return errorAt(f.Name, 1, "%s", text.Printable(err.Error(), text.Short))
	}
	first, _, _ := strings.Cut(parts[2], "\n")
	return fmt.Errorf("%s:%s: %s", text.Path(f.Name), parts[1], text.Printable(first, text.Short))
}

// keysOf returns the keys of a mapping, in their order.
func keysOf(n *yaml.Node) (keys []string) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			keys = append(keys, n.Content[i].Value)
		}
	}
	return keys
}

// field returns the value of a key in a mapping, or nil.
func field(n *yaml.Node, key string) *yaml.Node {
	if i := slices.Index(keysOf(n), key); i >= 0 {
		return n.Content[2*i+1]
	}
	return nil
}

// contentOf returns the elements of a list. It returns nil for other values.
func contentOf(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}
