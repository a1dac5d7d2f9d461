// Package schema describes the fields of policy files from their JSON Schema, docs/policy.schema.json. The command in
// the directory generate writes the file from the types that policies are decoded into.
package schema

import (
	"encoding/json"
	"fmt"
)

//go:generate go run ./generate ../..

// Draft is the version of JSON Schema. It is the newest version that yaml-language-server supports, which most editors
// use for YAML.
const Draft = "http://json-schema.org/draft-07/schema#"

// Schema is a draft-07 schema of a policy file or of a value in it, with the keywords that policies need. The zero
// value of a keyword means that it is absent. A schema does not contain references, because draft-07 ignores keywords
// next to them.
type Schema struct {
	Draft       string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        string             `json:"type,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	MinLength   int                `json:"minLength,omitempty"`
	Default     any                `json:"default,omitempty"`
	Examples    []any              `json:"examples,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Fields      map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	MinFields   int                `json:"minProperties,omitempty"`
	// MoreFields is false if no fields other than Fields are allowed.
	MoreFields *bool `json:"additionalProperties,omitempty"`
}

// Parse parses the schema of policy files.
func Parse(data []byte) (*Schema, error) {
	s := new(Schema)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read the schema of policies: %w", err)
	}
	return s, nil
}

// Inner returns the schema of the elements if the field is a list, or the schema itself.
func (s *Schema) Inner() *Schema {
	for s.Items != nil {
		s = s.Items
	}
	return s
}

// notation returns the type in the notation of kubectl explain: Object, []string.
func (s *Schema) notation() string {
	switch {
	case s.Items != nil:
		return "[]" + s.Items.notation()
	case s.Type == "object":
		return "Object"
	}
	return s.Type
}
