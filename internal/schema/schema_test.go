package schema

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `{
 "type": "object",
 "properties": {
  "kind": {"const": "Policy"},
  "apiVersion": {"const": "v1"},
  "rules": {"type": "array", "items": {"$ref": "#/definitions/rule"}, "description": "Rules.", "examples": [[{"b": 1}]]}
 },
 "definitions": {
  "rule": {
   "type": "object",
   "properties": {
    "b": {"type": "integer"},
    "a": {"$ref": "#/definitions/word", "description": "of the field"}
   },
   "required": ["b"]
  },
  "word": {"type": "string", "enum": ["on", "off"], "description": "of the definition", "default": "on"}
 }
}`

func parsed(t *testing.T) *Document {
	t.Helper()
	d, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Fields keep the order in which they are documented, in both directions.
func TestFieldsKeepTheirOrder(t *testing.T) {
	d := parsed(t)
	if diff := cmp.Diff([]string{"b", "a"}, d.Fields("rules")); diff != "" {
		t.Error(diff)
	}
	data, err := json.Marshal(d.root)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.root, again.root); diff != "" {
		t.Error(diff)
	}
}

// The keywords of a field override its definition, and the definition's other keywords apply.
func TestExplain(t *testing.T) {
	text, err := parsed(t).Explain("rules[3].a", false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `KIND:      Policy
VERSION:   v1

FIELD: a <string>

DESCRIPTION:
    of the field

ENUM:
    on
    off

DEFAULT:
    on
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
}

func TestExplainErrors(t *testing.T) {
	d := parsed(t)
	for path, want := range map[string]string{
		"rule":        "rule: unknown field; did you mean rules?",
		"rules.zzzzz": "rules.zzzzz: unknown field; known here: b, a",
		"rules.a.b":   "rules.a has no fields: it is of type string",
		"rules..a":    errNoField.Error(),
		"rules\x1b":   "rules : unknown field; did you mean rules?",
	} {
		_, err := d.Explain(path, false)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
		if slices.Contains(d.Fields(path), "a") {
			t.Errorf("%q: has fields", path)
		}
	}
}
