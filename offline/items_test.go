package offline

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// itemsOf returns the objects and errors of a List, one per line. If slowly is true, the decoder reads everything.
func itemsOf(r io.Reader, slowly bool) (lines []string, continued string) {
	s := newJSONStream(r, Origin{File: "list"})
	s.slow = slowly
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

// Items and errors are the same as with a decoder.
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
		"longer than a buffer": list(pod + "," + strings.Replace(pod, `"p"`, `"p", "x": "`+strings.Repeat("x", 3*firstItems)+`"`, 1) +
			"," + pod),
		"longer than what is searched": list(pod + "," + strings.Replace(pod, `"p"`, `"p", "x": "`+strings.Repeat("x", mostItem)+`"`, 1) +
			",\n" + pod + ",\n" + pod),
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
			fast, continued := itemsOf(strings.NewReader(text), false)
			slow, wanted := itemsOf(strings.NewReader(text), true)
			if diff := cmp.Diff(slow, fast); diff != "" || continued != wanted {
				t.Errorf("continued by %q, want %q (-decoder +items):\n%.2000s", continued, wanted, diff)
			}
			if len(fast) == 0 && name != "none" {
				t.Error("nothing is read")
			}
		})
	}
	whole := list(pod + ",\n" + pod)
	for end := range whole {
		fast, _ := itemsOf(strings.NewReader(whole[:end]), false)
		slow, _ := itemsOf(strings.NewReader(whole[:end]), true)
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Errorf("a List that ends at byte %d (-decoder +items):\n%s", end, diff)
		}
	}
}

// A read error is not the end of a List.
func TestItemsThatCannotBeRead(t *testing.T) {
	pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}`
	text := strings.NewReader(`{"kind": "List", "items": [` + pod + "," + pod)
	lines, _ := itemsOf(io.MultiReader(text, iotest.ErrReader(errors.New("the connection is gone"))), false)
	if len(lines) != 3 || !strings.Contains(lines[2], "the connection is gone") {
		t.Errorf("%q", lines)
	}
}

// The names of an object stay valid after the next object is read once.
func TestReadOnce(t *testing.T) {
	pod := func(name string) string {
		return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "` + name + `"}}`
	}
	text := `{"kind": "List", "apiVersion": "v1", "items": [` + pod("a") + "," + pod("b") + `]}`
	var names []string
	for object, err := range ReadOnce([]string{Stdin}, iotest.OneByteReader(strings.NewReader(text)), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if want := pod(object.Name); string(object.JSON) != want {
			t.Errorf("%s, want %s", object.JSON, want)
		}
		names = append(names, object.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Error(diff)
	}
}
