package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/schema"
	"github.com/evergate/evergate/policy"
)

// maker makes the schema of the type into which policy files are decoded.
type maker struct {
	comments map[string]string // of a field, by Struct.Field
	examples map[string][]any  // values of a field, by Struct.Field; docs/policy comes before examples/policies
	defs     map[string]*schema.Schema
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
	m := &maker{
		comments: comments, examples: map[string][]any{},
		defs: map[string]*schema.Schema{}, texts: map[reflect.Type]*schema.Schema{},
	}
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
				m.examples[f.id()] = append(m.examples[f.id()], value)
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
	var best any
	shortest := 0
	for _, value := range m.examples[f.id()] {
		data, err := json.Marshal(value)
		switch empty := string(data) == "[]" || string(data) == "{}"; {
		case err != nil || empty:
			continue
		case len(data) <= maxExample:
			return []any{value}
		}
		if shortest == 0 || len(data) < shortest {
			best, shortest = value, len(data)
		}
	}
	if shortest == 0 {
		m.withoutExample = append(m.withoutExample, f.id())
		return nil
	}
	return []any{best}
}

// root returns the schema of a document of a policy file.
func (m *maker) root() (*schema.Schema, error) {
	const apiVersion, kind = "evergate.dev/v1alpha1", "EvergatePolicy"
	root := m.object(policy.DocumentType())
	for name, value := range map[string]string{"apiVersion": apiVersion, "kind": kind} {
		f := root.Fields.Find(name)
		if f == nil {
			return nil, fmt.Errorf("policies do not have the field %s", name)
		}
		f.Const = value
	}
	root.Draft, root.Title = schema.Draft, kind
	root.Description = "A policy of Evergate: docs/policy.md"
	root.Definitions = m.defs
	return root, nil
}

// suggester and validator are the interfaces of the decoder, policy/internal/strict.
type (
	suggester interface{ Suggest(field string) []string }
	validator interface{ Validate() error }
)

// object returns the schema of a struct.
func (m *maker) object(typ reflect.Type) *schema.Schema {
	s := &schema.Schema{Type: "object", MoreFields: new(bool)}
	suggests, _ := reflect.TypeAssert[suggester](reflect.New(typ))
	for _, f := range fieldsOf(typ) {
		var of *schema.Schema
		var only []string
		if suggests != nil {
			only = suggests.Suggest(f.name)
		}
		switch {
		case only != nil:
			of = m.field(f, m.partOf(typ, f, only))
		case f.embedded:
			if m.defs[f.id()] == nil {
				m.defs[f.id()] = m.field(f, m.value(f.typ))
			}
			of = &schema.Schema{Ref: schema.RefPrefix + f.id()}
		default:
			of = m.field(f, m.value(f.typ))
		}
		s.Fields = append(s.Fields, schema.Field{Name: f.name, Schema: of})
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	if v, ok := reflect.TypeAssert[validator](reflect.New(typ)); ok && s.Required == nil && v.Validate() != nil {
		s.MinFields = 1 // the entry does not check anything without a field
	}
	return s
}

// field returns the schema of a field, whose value has the schema of.
func (m *maker) field(f field, of *schema.Schema) *schema.Schema {
	s := *of
	s.Description = f.describe(m.comments[f.id()])
	if s.Description == "" {
		m.undocumented = append(m.undocumented, f.id())
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

// partOf returns the schema of a field in a struct that allows only some fields of the field's type.
func (m *maker) partOf(owner reflect.Type, f field, only []string) *schema.Schema {
	part := &schema.Schema{Type: "object", MoreFields: new(bool)}
	for _, inner := range fieldsOf(f.typ.Elem()) {
		if !slices.Contains(only, inner.name) {
			continue
		}
		if m.defs[inner.id()] == nil {
			m.defs[inner.id()] = m.field(inner, m.value(inner.typ))
		}
		part.Fields = append(part.Fields, schema.Field{
			Name: inner.name, Schema: &schema.Schema{Ref: schema.RefPrefix + inner.id()},
		})
	}
	for name, def := range m.defs {
		if reflect.DeepEqual(def, part) {
			return &schema.Schema{Ref: schema.RefPrefix + name}
		}
	}
	name := nameOfType(owner) + "." + f.name
	m.defs[name] = part
	return &schema.Schema{Ref: schema.RefPrefix + name}
}

// value returns the schema of the values of a type.
func (m *maker) value(typ reflect.Type) *schema.Schema {
	if typ.Kind() == reflect.Pointer {
		return m.value(typ.Elem())
	}
	if reflect.PointerTo(typ).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		if m.texts[typ] == nil {
			m.texts[typ] = textSchema(typ)
		}
		return m.texts[typ]
	}
	switch typ.Kind() {
	case reflect.Slice:
		return &schema.Schema{Type: "array", Items: m.value(typ.Elem())}
	case reflect.Struct:
		name := nameOfType(typ)
		if m.defs[name] == nil {
			m.defs[name] = m.object(typ)
		}
		return &schema.Schema{Ref: schema.RefPrefix + name}
	case reflect.Bool:
		return &schema.Schema{Type: "boolean"}
	case reflect.Int:
		return &schema.Schema{Type: "integer"}
	default:
		return &schema.Schema{Type: "string"}
	}
}
