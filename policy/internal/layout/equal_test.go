package layout

import "testing"

func TestEqual(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b string
		want bool
	}{
		"order":        {"a: 1\nb: [x, {c: 1, d: 2}]\n", "b:\n- x\n- d: 2\n  c: 1\na: 1\n", true},
		"a value":      {"a: 1\n", "a: 2\n", false},
		"a type":       {"a: 1\n", "a: \"1\"\n", false},
		"a field":      {"a: 1\n", "a: 1\nb: 1\n", false},
		"an element":   {"a: [x, y]\n", "a: [y, x]\n", false},
		"a document":   {"a: 1\n", "a: 1\n---\na: 1\n", false},
		"a text":       {"a: |\n  x\n  y\n", "a: |\n  x\n   y\n", false},
		"a comment":    {"a: 1 # x\n", "# y\na: 1\n", true},
		"quotes alone": {"a: 'x'\n", "a: x\n", true},
	} {
		got, err := equal([]byte(tt.a), []byte(tt.b))
		if err != nil || got != tt.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
