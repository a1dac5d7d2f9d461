package podtemplate

import (
	"strings"
	"testing"
)

// One path is within another if some object has a value at both, because this value would be evaluated twice.
func TestPathWithin(t *testing.T) {
	for _, test := range []struct {
		inner, outer string
		want         bool
	}{
		{"a.b", "a", true},
		{"a", "a", true},
		{"a", "a.b", false},
		{"a.b", "a.c", false},
		{"a.*.c", "a.b", true},
		{"a.b.c", "a.*.c", true},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{"a.*", "a.b.c", false},
	} {
		inner, outer := Path(strings.Split(test.inner, ".")), Path(strings.Split(test.outer, "."))
		if got := inner.within(outer); got != test.want {
			t.Errorf("%s within %s: %t", inner, outer, got)
		}
	}
}

// The error of each invalid path shows what to write instead. The longest path that is read is one field shorter.
func TestPathHints(t *testing.T) {
	const dots = "write names of fields with dots between them, as in spec.template"
	for path, want := range map[string]string{
		"":                 "write names of fields with one dot between them, as in spec.template",
		"spec..template":   "write names of fields with one dot between them, as in spec.template",
		"spec.w[*].t":      "write .* for the elements of a list, as in spec.workers.*.template",
		"spec.a*.template": "* replaces a whole field or element, as in spec.*.template",
		"spec/template":    dots,
		"$.spec":           dots,
		"spec.te mplate": `"te mplate" is not the name of a field: use letters, digits, - and _, at most 63; ` +
			"write * for keys that users choose",
		strings.Repeat("a.", maxPathSegments) + "a": "it has 11 fields, at most 10 are read",
		"*.template":                      "begin it with a field, such as spec",
		"apiVersion":                      "no Pods are made from apiVersion",
		"kind.a":                          "no Pods are made from kind",
		"metadata.a":                      "no Pods are made from metadata",
		"status.template":                 "no Pods are made from status",
		"spec.initContainers":             "end it at the object that has the field initContainers",
		"spec.imagePullSecrets":           "",
		"spec.Az_0-9.*.a":                 "",
		"spec." + strings.Repeat("a", 63): "",
		strings.Repeat("a.", maxPathSegments-1) + "template": "",
	} {
		if got := pathHint(path, strings.Split(path, ".")); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	if got := pathHint("", []string{strings.Repeat("a", 64)}); !strings.Contains(got, "is not the name of a field") {
		t.Errorf("a field name of 64 bytes: %q", got)
	}
}
