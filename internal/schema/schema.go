// Package schema parses the JSON Schema of policy files, docs/policy.schema.json, and explains its fields. The command
// in the directory generate writes the file from the types that policies are decoded into.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Draft is the version of JSON Schema. It is the newest version that yaml-language-server supports, which most editors
// use for YAML.
const Draft = "http://json-schema.org/draft-07/schema#"

// RefPrefix is the text before the name of a definition in Schema.Ref.
const RefPrefix = "#/definitions/"

// Schema is a draft-07 schema of a policy file or of a value in it, with the keywords that policies need. The zero
// value of a keyword means that it is absent. A schema with a Ref is that definition, and its own description, default
// and examples override the definition's.
type Schema struct {
	Draft       string   `json:"$schema,omitempty"`
	ID          string   `json:"$id,omitempty"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Ref         string   `json:"$ref,omitempty"`
	Type        string   `json:"type,omitempty"`
	Const       string   `json:"const,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	MinLength   int      `json:"minLength,omitempty"`
	Default     any      `json:"default,omitempty"`
	Examples    []any    `json:"examples,omitempty"`
	Items       *Schema  `json:"items,omitempty"`
	Fields      Fields   `json:"properties,omitempty"`
	Required    []string `json:"required,omitempty"`
	MinFields   int      `json:"minProperties,omitempty"`
	// MoreFields is false if no fields other than Fields are allowed.
	MoreFields  *bool              `json:"additionalProperties,omitempty"`
	Definitions map[string]*Schema `json:"definitions,omitempty"`
}

// Fields contains the fields of an object, in the order in which they are documented and written.
type Fields []Field

// Field is a field of an object.
type Field struct {
	Name   string
	Schema *Schema
}

// Names returns the names of the fields.
func (fs Fields) Names() []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Name
	}
	return names
}

// Find returns the schema of the field with the given name, or nil if there is no such field.
func (fs Fields) Find(name string) *Schema {
	if i := slices.IndexFunc(fs, func(f Field) bool { return f.Name == name }); i >= 0 {
		return fs[i].Schema
	}
	return nil
}

// MarshalJSON writes the fields as an object, in their order.
func (fs Fields) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fs {
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.Schema)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object and keeps the order of its fields.
func (fs *Fields) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil { // the opening brace
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		f := Field{Name: fmt.Sprint(name), Schema: new(Schema)}
		if err := dec.Decode(f.Schema); err != nil {
			return err
		}
		*fs = append(*fs, f)
	}
	return nil
}
