package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// kubectlObjects reads a text with the packages with which kubectl reads -f, as StreamVisitor and FlattenListVisitor do
// (k8s.io/cli-runtime/pkg/resource/visitor.go).
func kubectlObjects(text string) (objects []map[string]any, err error) {
	d := kyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var raw runtime.RawExtension
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		raw.Raw = bytes.TrimSpace(raw.Raw)
		if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
			continue
		}
		object, _, err := unstructured.UnstructuredJSONScheme.Decode(raw.Raw, nil, nil)
		switch o := object.(type) {
		case *unstructured.UnstructuredList:
			for _, item := range o.Items {
				if item.GetKind() == "" {
					return nil, errors.New("an item has no kind")
				}
				objects = append(objects, item.Object)
			}
		case *unstructured.Unstructured:
			objects = append(objects, o.Object)
		}
		if err != nil {
			return nil, err
		}
	}
}

// fragments returns pieces of YAML and JSON from which a corpus is made: values, members of a Pod, documents, and
// separators of documents.
func fragments() (values, members, documents, separators []string) {
	values = []string{
		"a", "'it''s'", `"a\n\u00e9"`, "n", "Yes", "off", "~", "null", "1", "1.0", "1e3", "0o17", "017", "0x1F", "1_000", "+1", ".5",
		"2020-01-02", "!!str 5", "!!int '5'", "!!binary aGk=", "[]", "{}", "[a, [b, {c: d}]]", "{a: 1, b: {c: }}",
		"|\n    text\n      {{ more }}\n", ">-\n    folded\n    text\n", "&v x", "*base", "{<<: *base}", "{<<: *base, a: own}",
		"{a: own, <<: *base}", "{<<: [*base, *more], c: own}", "{<<: {a: 1}, a: 2}", "\"{{ .x }}\"", "of {{ x }}", "<<", "{1: a, true: b, 2.5: c}",
		"# no value", "'#'", "a # comment", "9007199254740993", "1e400",
	}
	members = []string{
		"status:", "  x:", "\"y\":", "'z' :", "data:", "data:", "? key\n:", "y:", "on:", "1:", "null:", "metadata2: &m", "-x-:",
	}
	documents = []string{
		"null", "~", "# nothing", "", "---", "{apiVersion: v1, kind: Pod, metadata: {name: flow}}",
		`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "json"}}`, "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Pod\"}",
		`{"apiVersion": "v1", "kind": "Pod"}{"kind": "Job", "apiVersion": "batch/v1"}` + "\n" + `{"kind": "Pod", "apiVersion": "v1"}`,
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- {kind: Job, apiVersion: batch/v1}",
		"apiVersion: v1\nkind: PodList\nmetadata: {continue: x}\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n  kind: Pod\n  apiVersion: v1",
		"items: [{metadata: {name: a}}]\nkind: PodList\napiVersion: v1", "items: []\nkind: PodList\napiVersion: v1",
		`{"items": [{"metadata": {"name": "a"}}, {"apiVersion": "v1", "kind": "Pod"}], "kind": "PodList", "apiVersion": "v1"}`,
		"kind: List\napiVersion: v1\nitems:\n- &one\n  apiVersion: v1\n  kind: Pod\n  metadata: {name: one}\n- <<: *one\n  metadata: {name: two}\n- *one",
	}
	separators = []string{"\n---\n", "\n---\n", "\r\n---\r\n", "\n--- # comment\n", "\n---   \n", "\n---\n---\n"}
	return values, members, documents, separators
}

// A text that kubectl reads gives the same objects.
func TestReadsLikeKubectl(t *testing.T) {
	random := rand.New(rand.NewPCG(60, 1)) //nolint:gosec // the corpus is the same in each run
	values, members, documents, separators := fragments()
	of := func(pieces []string) string { return pieces[random.IntN(len(pieces))] }
	read, compared := 0, 0
	for range 5_000 {
		var text strings.Builder
		if random.IntN(20) == 0 {
			text.WriteString("\ufeff")
		}
		for i := range 1 + random.IntN(4) {
			if i > 0 {
				text.WriteString(of(separators))
			}
			if random.IntN(2) == 0 {
				text.WriteString(of(documents))
				continue
			}
			text.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nbase: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\n")
			for range random.IntN(4) {
				text.WriteString(of(members) + " " + of(values) + "\n")
			}
		}
		want, err := kubectlObjects(text.String())
		if err != nil {
			continue
		}
		read++
		compared += len(want)
		compareObjects(t, text.String(), want)
		if t.Failed() {
			return
		}
	}
	if read < 3_000 || compared < 2*read {
		t.Errorf("kubectl reads %d texts with %d objects, which is too few for a comparison", read, compared)
	}
}

// compareObjects compares the objects in a text with those of kubectl.
func compareObjects(t *testing.T, text string, want []map[string]any) {
	t.Helper()
	var got []map[string]any
	for object, err := range Read([]string{Stdin}, strings.NewReader(text)) {
		if err != nil {
			if len(want) > 0 || !errors.Is(err, errEmpty) {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		var content map[string]any
		if err := kjson.Unmarshal(object.JSON, &content); err != nil {
			t.Fatal(err)
		}
		content["apiVersion"], content["kind"] = object.APIVersion, object.Kind // an item may get them from its List
		got = append(got, content)
	}
	byContent := func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(want, byContent) // items without a kind can come last
	slices.SortFunc(got, byContent)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q (-kubectl +got)\n%s", text, diff)
	}
}
