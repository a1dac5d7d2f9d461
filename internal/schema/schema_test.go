package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `{
 "type": "object",
 "properties": {
  "kind": {"enum": ["Policy"]},
  "apiVersion": {"enum": ["v1"]},
  "rules": {"type": "array", "items": {
   "type": "object",
   "properties": {
    "b": {"type": "integer"},
    "a": {"type": "string", "enum": ["on", "off"], "description": "of the field", "default": "on"}
   },
   "required": ["b"]
  }, "description": "Rules.", "examples": [[{"b": 1}]]}
 }
}`

func parsed(t *testing.T) *Schema {
	t.Helper()
	d, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

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

// The name of a list has no index in the examples of its values.
func TestExplainIndex(t *testing.T) {
	indexed, err := parsed(t).Explain("rules[3]", false)
	if plain, _ := parsed(t).Explain("rules", false); err != nil || indexed != plain {
		t.Errorf("%v, %s", err, cmp.Diff(plain, indexed))
	}
}

func TestExplainErrors(t *testing.T) {
	d := parsed(t)
	for path, want := range map[string]string{
		"rule":        "rule: unknown field; did you mean rules?",
		"rules.zzzzz": "rules.zzzzz: unknown field; known here: a, b",
		"rules.a.b":   "rules.a has no fields: it is of type string",
		"rules..a":    errNoField.Error(),
		"rules\x1b":   "rules : unknown field; did you mean rules?",
	} {
		_, err := d.Explain(path, false)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
}
