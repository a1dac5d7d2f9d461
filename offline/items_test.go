package offline

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// itemsOf returns the objects and errors of a List, one per line.
func itemsOf(r io.Reader) (lines []string, continued string) {
	s := newJSONStream(r, Origin{File: "list"})
	s.each(func(object Object, err error) bool {
		if err != nil {
			lines = append(lines, err.Error())
			return true
		}
		lines = append(lines,
			fmt.Sprint(object.Origin, " ", object.APIVersion, " ", object, " ", object.phase, " ", len(object.JSON)))
		return true
	})
	return lines, s.continued
}

// Objects are the same as in kubectl, and text that kubectl does not read is an error. The size of the parts in which the
// text is read does not matter.
func TestItems(t *testing.T) {
	pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}, "status": {"phase": "Failed"}}`
	list := func(items string) string {
		return "{\n \"apiVersion\": \"v1\",\n \"items\": [" + items + "\n],\n \"metadata\": {\"continue\": \"next\"}, \"kind\": \"List\"\n}\n"
	}
	indented := strings.ReplaceAll(pod, ", ", ",\n        ")
	for name, text := range map[string]string{
		"none":               list(""),
		"one":                list(pod),
		"several":            list("\n" + pod + ",\n" + pod + " ,\n\n" + pod),
		"more than a buffer": list(strings.Repeat(indented+",\n", 5000) + indented),
		"two lists":          list(pod) + list(pod+","+pod) + pod,
		"longer than a buffer": list(pod + "," + strings.Replace(pod, `"p"`, `"p", "x": "`+strings.Repeat("x", 3*firstRead)+`"`, 1) +
			"," + pod),
		"a name that is too long":  list(strings.Replace(pod, `"p"`, `"`+strings.Repeat("p", 2*maxHeader)+`"`, 1) + ",\n" + pod),
		"escapes":                  list(strings.Replace(pod, `"p"`, `"\u0070\n"`, 1)),
		"types without values":     list(`{"metadata": {"name": "p"}},` + pod),
		"a name that is a number":  list(strings.Replace(pod, `"p"`, `5`, 1) + ",\n" + pod),
		"metadata that is a list":  list(strings.Replace(pod, `{"name": "p", "namespace": "a"}`, `[]`, 1) + ",\n" + pod),
		"null":                     list(strings.Replace(pod, `"p"`, `null`, 1) + ",\n" + strings.Replace(pod, `{"phase": "Failed"}`, `null`, 1)),
		"a phase that is a number": list(strings.Replace(pod, `"Failed"`, `5`, 1) + ",\n" + pod),
		"what is no object":        list(pod + ",\n5,\n" + pod),
		"a number first":           list("5,\n" + pod),
		"a comma too many":         list(pod + ",\n"),
		"no comma":                 list(pod + "\n" + pod),
		"a comma first":            list("," + pod),
		"broken":                   list(pod + ",\n" + pod[:40] + "\n," + pod),
		"not UTF-8":                list(pod + ",\n" + strings.Replace(pod, `"p"`, "\"\xff\"", 1) + ",\n" + pod),
		"too deep":                 list(pod + ",\n" + `{"x": ` + strings.Repeat("[", 11_000) + strings.Repeat("]", 11_000) + `}`),
		"a List within":            list(pod + ",\n" + `{"kind": "PodList", "apiVersion": "v1", "items": [` + pod + `]}` + ",\n" + pod),
	} {
		t.Run(name, func(t *testing.T) {
			lines, continued := itemsOf(strings.NewReader(text))
			slowly, wanted := itemsOf(iotest.OneByteReader(strings.NewReader(text)))
			if diff := cmp.Diff(lines, slowly); diff != "" || continued != wanted {
				t.Errorf("continued by %q, want %q (-fast +slow):\n%.2000s", continued, wanted, diff)
			}
			if slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(line, " v1 ") }) {
				return // an error, maybe about a field that kubectl does not read
			}
			want, err := kubectlObjects(text)
			if err != nil {
				t.Fatalf("no error, and kubectl has %v", err)
			}
			compareObjects(t, text, want)
		})
	}
	whole := list(pod + ",\n" + pod)
	all, _ := itemsOf(strings.NewReader(whole))
	for end := range len(whole) - 2 {
		lines, _ := itemsOf(strings.NewReader(whole[:end+1]))
		last := len(lines) - 1
		if last < 0 || !strings.HasSuffix(lines[last], "the JSON is truncated: it ends before the object does") {
			t.Fatalf("a List that ends at byte %d: %q", end+1, lines)
		}
		if diff := cmp.Diff(all[:last], lines[:last]); diff != "" {
			t.Errorf("a List that ends at byte %d (-whole +got):\n%s", end+1, diff)
		}
	}
}

// A read error is not the end of a List.
func TestItemsThatCannotBeRead(t *testing.T) {
	pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}`
	text := strings.NewReader(`{"kind": "List", "items": [` + pod + "," + pod)
	lines, _ := itemsOf(io.MultiReader(text, iotest.ErrReader(errors.New("the connection is gone"))))
	if len(lines) != 3 || !strings.Contains(lines[2], "the connection is gone") {
		t.Errorf("%q", lines)
	}
}
