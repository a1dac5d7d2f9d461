package main

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/schema"
	"github.com/evergate/evergate/policy"
)

// maker makes the schema of the type into which policy files are decoded.
type maker struct {
	comments map[string]string // by field.id
	examples map[string][]any  // by field.id; docs/policy comes before examples/policies
	texts    map[reflect.Type]*schema.Schema

	undocumented, withoutExample []string
}

func newMaker(repository string) (*maker, error) {
	comments, err := fieldComments(repository)
	if err != nil {
		return nil, err
	}
	trees, err := exampleTrees(repository)
	if err != nil {
		return nil, err
	}
	m := &maker{comments: comments, examples: map[string][]any{}, texts: map[reflect.Type]*schema.Schema{}}
	for _, tree := range trees {
		m.addExamples(policy.DocumentType(), tree)
	}
	return m, nil
}

// addExamples adds the values of the fields in a tree, which is decoded into the type typ.
func (m *maker) addExamples(typ reflect.Type, tree any) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch v := tree.(type) {
	case []any:
		for _, item := range v {
			m.addExamples(typ.Elem(), item)
		}
	case map[string]any:
		for _, f := range fieldsOf(typ) {
			if value, ok := v[f.name]; ok {
				m.examples[f.id] = append(m.examples[f.id], value)
				m.addExamples(f.typ, value)
			}
		}
	}
}

// maxExample is the maximum length of an example in bytes of JSON, unless a field has only longer examples. It is one
// or two lines.
const maxExample = 160

// exampleOf returns the first example that is short and not empty. Without such an example, it returns the shortest.
func (m *maker) exampleOf(f field) []any {
	var best []any
	shortest := 0
	for _, value := range m.examples[f.id] {
		data, err := json.Marshal(value)
		if err != nil || string(data) == "[]" || string(data) == "{}" {
			continue
		}
		if best == nil || shortest > maxExample && len(data) < shortest {
			best, shortest = []any{value}, len(data)
		}
	}
	if best == nil {
		m.withoutExample = append(m.withoutExample, f.id)
	}
	return best
}

// root returns the schema of a document of a policy file.
func (m *maker) root() *schema.Schema {
	root := m.object(policy.DocumentType(), nil)
	root.Fields["apiVersion"].Enum = []string{"evergate.dev/v1alpha1"}
	root.Fields["kind"].Enum = []string{"EvergatePolicy"}
	root.Draft, root.Title, root.Description = schema.Draft, "EvergatePolicy", "A policy of Evergate: docs/policy.md"
	return root
}

// suggester and validator are the interfaces of the decoder, policy/internal/strict.
type (
	suggester interface{ Suggest(field string) []string }
	validator interface{ Validate() error }
)

// object returns the schema of a struct. If only is not nil, it has only these fields.
func (m *maker) object(typ reflect.Type, only []string) *schema.Schema {
	s := &schema.Schema{Type: "object", Fields: map[string]*schema.Schema{}, MoreFields: new(bool)}
	suggests, _ := reflect.TypeAssert[suggester](reflect.New(typ))
	for _, f := range fieldsOf(typ) {
		if only != nil && !slices.Contains(only, f.name) {
			continue
		}
		var inner []string
		if suggests != nil {
			inner = suggests.Suggest(f.name)
		}
		s.Fields[f.name] = m.field(f, inner)
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	if v, ok := reflect.TypeAssert[validator](reflect.New(typ)); ok && s.Required == nil && v.Validate() != nil {
		s.MinFields = 1 // the entry does not check anything without a field
	}
	return s
}

// field returns the schema of a field. If only is not nil, its value has only these fields.
func (m *maker) field(f field, only []string) *schema.Schema {
	s := *m.value(f.typ, only)
	s.Description = f.describe(m.comments[f.id])
	if s.Description == "" {
		m.undocumented = append(m.undocumented, f.id)
	}
	switch {
	case f.required:
	case s.Type == "boolean":
		s.Default = false
	case !strings.Contains(s.Description, "Absent:"):
		s.Description += " Default: not set."
	}
	s.Examples = m.exampleOf(f)
	return &s
}

// value returns the schema of the values of a type. If only is not nil, the objects have only these fields.
func (m *maker) value(typ reflect.Type, only []string) *schema.Schema {
	if typ.Kind() == reflect.Pointer {
		return m.value(typ.Elem(), only)
	}
	if reflect.PointerTo(typ).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		if m.texts[typ] == nil {
			m.texts[typ] = textSchema(typ)
		}
		return m.texts[typ]
	}
	switch typ.Kind() {
	case reflect.Slice:
		return &schema.Schema{Type: "array", Items: m.value(typ.Elem(), only)}
	case reflect.Struct:
		return m.object(typ, only)
	case reflect.Bool:
		return &schema.Schema{Type: "boolean"}
	case reflect.Int:
		return &schema.Schema{Type: "integer"}
	default:
		return &schema.Schema{Type: "string"}
	}
}
