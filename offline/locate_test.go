package offline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

const located = `# a comment

---
apiVersion: v1
kind: Service
metadata: {name: a, annotations: {"a.example/b": c}}
spec:
  type: NodePort
---
# another
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: &m
    name: b
  spec: {ports: [{port: 1},
    {port: 2}]}
- apiVersion: v1
  kind: Service
  metadata: *m
`

// Fields are found in documents, items, braces and behind aliases. For an absent field, the parent is found.
func TestLocator(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(located), 0o644); err != nil {
		t.Fatal(err)
	}
	find := locator{open: reopen}
	for _, tt := range []struct {
		document, item int
		path, want     string
	}{
		{1, 0, "spec.type", "8:3"},
		{1, 0, `metadata.annotations["a.example/b"]`, "6:35"},
		{1, 0, "spec.ports[0].port", "7:1"},
		{1, 0, "", "4:1"},
		{2, 1, "spec.ports[1].port", "19:6"},
		{2, 2, "metadata.name", "17:5"},
		{1, 0, "spec.type", "8:3"}, // again, from the beginning
		{3, 0, "spec", "99:1"},     // a document that does not exist
	} {
		got := find.place(Origin{File: file, Document: tt.document, Item: tt.item, Line: 99}, tt.path)
		if place := fmt.Sprintf("%d:%d", got.Line, got.Column); place != tt.want {
			t.Errorf("document %d, item %d, %s: %s, want %s", tt.document, tt.item, tt.path, place, tt.want)
		}
	}
	if got := find.place(Origin{File: "stdin", Line: 3}, "spec"); got != (output.Place{File: "stdin", Line: 3, Column: 1}) {
		t.Errorf("stdin: %+v", got)
	}
}

// Every object is a case. A finding is at the place of its field, and an error is at the place of its document.
func TestCases(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": located, "b.yaml": "kind: Pod\n", "c_test.yaml": "cases: []\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(`apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
services:
- {name: types, mode: enforce, types: {denied: [NodePort]}}
- {name: ports, mode: warn, ports: {allowed: ["1"]}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	r := Review(Options{Policy: p, Namespace: "x"}, Read([]string{dir}, strings.NewReader("")))
	var got []string
	for _, c := range r.Cases() {
		got = append(got, filepath.Base(c.Suite)+" "+strings.TrimPrefix(c.Name, "document "+dir+"/"))
		for _, f := range c.Results {
			got = append(got, fmt.Sprintf("  %d %s %s:%d:%d %s", f.Level, f.Rule, filepath.Base(f.Place.File), f.Place.Line,
				f.Place.Column, f.Subject))
		}
	}
	want := []string{
		"a.yaml Service x/a", "  2 types/types.denied a.yaml:8:3 Service x/a: spec.type",
		"a.yaml Service x/b", "  1 ports/ports.allowed a.yaml:19:6 Service x/b: spec.ports[].port",
		"a.yaml Service x/b",
		"b.yaml b.yaml:1", "  3 input .:0:0 ",
	}
	equal(t, want, got)
	if len(r.SkippedFiles) != 1 || r.SkippedFiles[0].Why != whyForeign {
		t.Errorf("the suite is not skipped: %+v", r.SkippedFiles)
	}
}
