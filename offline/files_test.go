package offline

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listed reads the input, and returns objects and errors as text in their order.
func listed(paths []string, stdin string) []string {
	var got []string
	for object, err := range Read(paths, strings.NewReader(stdin)) {
		if err != nil {
			got = append(got, "error: "+err.Error())
			continue
		}
		got = append(got, object.Origin.String()+": "+object.APIVersion+" "+object.String())
	}
	return got
}

func TestReadText(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{
			"YAML documents",
			"# a comment\napiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ns}\n---\n\n---\n# nothing\n---\n" +
				"kind: Service\napiVersion: v1\nmetadata:\n  name: b\n",
			[]string{"stdin:2: v1 Pod ns/a", "stdin:10: v1 Service b"},
		},
		{
			"markers with something behind them",
			"--- # first\n{apiVersion: v1, kind: Pod}\n--- {apiVersion: v1, kind: Service}\n...\n" +
				"# comment\napiVersion: v1\nkind: Secret\n",
			[]string{"stdin:2: v1 Pod", "stdin:3: v1 Service", "stdin:6: v1 Secret"},
		},
		{
			"a marker in the last line, without its end", "apiVersion: v1\nkind: Pod\n---",
			[]string{"stdin:1: v1 Pod"},
		},
		{
			"directives, Windows line ends and a byte order mark",
			"\ufeff%YAML 1.1\r\n---\r\napiVersion: v1\r\nkind: Pod\r\n---\r\n",
			[]string{"stdin:3: v1 Pod"},
		},
		{
			"three dashes within a text are no marker",
			"apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    ---\n    b\n----: x\n",
			[]string{"stdin:1: v1 ConfigMap"},
		},
		{
			"a YAML List", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n" +
				"- {kind: Pod}\n- {apiVersion: v1, kind: Pod, metadata: {generateName: b-}}\n",
			[]string{
				"stdin:1: item 1: v1 Pod a",
				"stdin:1: item 3: v1 Pod b-",
				"error: stdin:1: item 2: Pod has no apiVersion: write it next to kind, for example apiVersion: v1",
			},
		},
		{
			"bad YAML leaves out its document",
			"apiVersion: v1\nkind: Pod\n---\nkind: Pod\nmetadata: {name: a\n---\napiVersion: v1\nkind: Service\n",
			[]string{
				"stdin:1: v1 Pod",
				"error: stdin:5: document 2: not YAML: did not find expected ',' or '}'",
				"stdin:7: v1 Service",
			},
		},
		{
			"values that YAML 1.1 does not read as strings",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: n}\n---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: 1}\n",
			[]string{
				"error: stdin:1: metadata.name is a boolean, but must be a string: put it in quotes, because YAML reads n, y, no, " +
					"yes, off and on as booleans",
				"error: stdin:5: document 2: metadata.namespace is a number, but must be a string: put it in quotes",
			},
		},
		{"a text", "just text\n", []string{"error: stdin:1: a string is not a Kubernetes object"}},
		{
			"what is no object", "just text\n---\n[1, 2]\n---\nname: x\n---\nkind: Pod\n---\napiVersion: 5\nkind: Pod\n---\n" +
				"apiVersion: v1\nkind: Pod\nmetadata: [a]\n",
			[]string{
				"error: stdin:7: document 4: Pod has no apiVersion: write it next to kind, for example apiVersion: v1",
				"error: stdin:9: document 5: apiVersion is a number, but must be a string",
				"error: stdin:12: document 6: metadata is a list, but must be an object",
				"error: stdin: 3 of 6 documents: skipped: " + whyForeign,
			},
		},
		{
			"JSON objects, one after the other",
			"\n{\"apiVersion\": \"v1\",\n \"kind\": \"Pod\"}\n\n{\"kind\": \"Service\", \"apiVersion\": \"v1\"}{}\n",
			[]string{
				"stdin:2: v1 Pod", "stdin:5: v1 Service",
				"error: stdin: 1 of 3 documents: skipped: " + whyForeign,
			},
		},
		{
			"a List as kubectl prints it", "{\n\"apiVersion\": \"v1\",\n\"items\": [\n" +
				"{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}},\n" +
				"{\"kind\": 5},\n" +
				"{\"metadata\": {\"name\": \"c\"}},\n" +
				"{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"b\"}}\n" +
				"],\n\"kind\": \"List\",\n\"metadata\": {}}\n",
			[]string{
				"stdin:4: item 1: v1 Pod a", "stdin:7: item 4: v1 Service b",
				"error: stdin:5: item 2: kind is a number, but must be a string",
				"error: stdin:6: item 3: no kind: a Kubernetes object has a kind, for example kind: Pod",
			},
		},
		{
			"a list as the API answers it",
			`{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}, {"metadata": null}]}`,
			[]string{"stdin:1: item 1: v1 Pod a", "stdin:1: item 2: v1 Pod"},
		},
		{
			"lists of nothing",
			`{"kind": "List", "apiVersion": "v1", "items": []} {"kind": "PodList", "apiVersion": "v1", "items": null}` +
				` {"kind": "List", "apiVersion": "v1"}`,
			nil,
		},
		{
			"a kind that only sounds like a list",
			`{"apiVersion": "corp.example/v1", "kind": "AllowList", "metadata": {"name": "a"}}`,
			[]string{"stdin:1: corp.example/v1 AllowList a"},
		},
		{
			"items of no List", `{"items": [{"metadata": {"name": "a"}}, {"apiVersion": "v1", "kind": "Pod"}], "metadata": {}}`,
			[]string{
				"stdin:1: item 2: v1 Pod",
				"error: stdin:1: no kind: a Kubernetes object has a kind, for example kind: Pod",
			},
		},
		{
			"JSON before YAML", "{\"apiVersion\": \"v1\",\n\"kind\": \"Pod\"}\n---\napiVersion: v1\nkind: Job\n",
			[]string{"stdin:1: v1 Pod", "stdin:4: v1 Job"},
		},
		{
			"a List in a List",
			`{"kind": "List", "apiVersion": "v1", "items": [{"kind": "List", "apiVersion": "v1", "items": []}]}`,
			[]string{"error: stdin:1: item 1: a List within a List: move its items to the outer List"},
		},
		{
			"a list whose kind does not sound like one",
			`{"apiVersion": "v1", "items": [{"metadata": {"name": "a"}}, {"kind": "Job", "apiVersion": "batch/v1"}], "kind": "Pod"}`,
			[]string{"stdin:1: item 2: batch/v1 Job", "stdin:1: item 1: v1 Pod a"},
		},
		{
			"JSON that breaks off", "{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}\n{\"kind\":\n\"P",
			[]string{"stdin:1: v1 Pod", "error: stdin:3: document 2: the JSON is truncated: it ends before the object does"},
		},
		{
			"a template that was not rendered", "{{ .Values }}", []string{
				"error: stdin:1: not YAML: a key is a mapping or a list, but must be a string; it contains {{, like a template: " +
					"render it first, for example with helm template",
			},
		},
		{
			"YAML that begins like JSON",
			"{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Pod, metadata: [a}\n",
			[]string{"stdin:1: v1 Pod a", "error: stdin:3: document 2: not YAML: did not find expected ',' or ']'"},
		},
		{
			"YAML that begins like JSON for longer",
			"\n{\"apiVersion\": \"v1\", \"kind\": Pod, \"metadata\": {\"name\": 'a'}}\n",
			[]string{"stdin:2: v1 Pod a"},
		},
		{"YAML that has a comment", "{ # of me\n\"apiVersion\": \"v1\", \"kind\": \"Pod\"}\n", []string{"stdin:1: v1 Pod"}},
		{
			"JSON with a mistake at its end", `{"apiVersion": "v1", "kind": "Pod"}` + strings.Repeat("\n", 1<<10) + `{"kind": "Pod" "a": 1}`,
			[]string{"stdin:1: v1 Pod", "error: stdin:1025: document 2: not JSON: '\"' instead of a comma"},
		},
		{
			"JSON before what is none", `{"apiVersion": "v1", "kind": "Pod"} {apiVersion: v1}`,
			[]string{"stdin:1: v1 Pod", "error: stdin:1: document 2: not JSON: 'a' instead of a name"},
		},
		{"nothing", "", []string{"error: stdin: no object in it"}},
		{"nothing but comments", "# a\n---\n# b\n", []string{"error: stdin: no object in it"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, listed([]string{Stdin}, tt.in)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestReadPaths(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const pod = "apiVersion: v1\nkind: Pod\n"
	for name, text := range map[string]string{
		"d/b.yaml":             pod,
		"d/a.json":             `{"apiVersion": "v1", "kind": "Service"}`,
		"d/sub/c.yml":          `{apiVersion: v1, kind: Secret}`, // YAML that begins like JSON
		"d/sub/README.md":      "not read",
		"d/.hidden/x.yaml":     "not read",
		"d/.x.yaml":            "not read",
		"d/placeholder.yaml":   "# to come\n",
		"d/kustomization.yaml": "resources: [b.yaml]\n",
		"none/notes.txt":       "",
		"empty":                "",
		"manifest":             pod, // given by its path, so any name is allowed
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("d", "link"); err != nil {
		t.Fatal(err)
	}
	got := listed([]string{"manifest", "d", "-", "link/sub", "none", "empty", "absent"}, pod)
	want := []string{
		"manifest:1: v1 Pod",
		"error: d/.hidden/: skipped: hidden",
		"error: d/.x.yaml: skipped: hidden",
		"d/a.json:1: v1 Service",
		"d/b.yaml:1: v1 Pod",
		"d/kustomization.yaml:1: kustomize.config.k8s.io/v1beta1 Kustomization",
		"error: d/placeholder.yaml: skipped: empty",
		"error: d/sub/README.md: skipped: not *.yaml, *.yml or *.json",
		"d/sub/c.yml:1: v1 Secret",
		"stdin:1: v1 Pod",
		"error: link/sub/README.md: skipped: not *.yaml, *.yml or *.json",
		"link/sub/c.yml:1: v1 Secret",
		"error: none/notes.txt: skipped: not *.yaml, *.yml or *.json",
		"error: none: no manifest in this directory: every file is skipped",
		"error: empty: no object in it",
		"error: absent: no such file or directory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	followed := false
	for _, err := range Read([]string{"link"}, nil) {
		if followed = err == nil; followed {
			break // a reader may stop at any object
		}
	}
	if !followed {
		t.Error("a symbolic link to a directory is not followed")
	}
}

// endless is a List without an end. To its reader, it looks like a List that does not fit into memory.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	if !e.begun {
		e.begun = true
		return copy(p, `{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Pod"}`), nil
	}
	return copy(p, ",\n"+`{"apiVersion": "v1", "kind": "Pod"}`), nil
}

func TestReadStreamsLists(t *testing.T) {
	last := Object{}
	for object, err := range Read([]string{Stdin}, &endless{}) {
		if err != nil {
			t.Fatal(err)
		}
		if last = object; object.Item == 50_000 {
			break
		}
	}
	if last.Item != 50_000 || last.Line != 50_000 {
		t.Errorf("stopped at %s", last.Origin)
	}
}

type failing struct{ io.Reader }

func (f failing) Read(p []byte) (int, error) {
	if n, err := f.Reader.Read(p); err == nil {
		return n, nil
	}
	return 0, errors.New("the disk is on fire")
}

func TestReadTellsWhatItCannotRead(t *testing.T) {
	for _, text := range []string{"apiVersion: v1\n", `{"apiVersion": "v1",`} {
		var errs []error
		for _, err := range Read([]string{Stdin}, failing{strings.NewReader(text)}) {
			errs = append(errs, err)
		}
		if len(errs) != 1 || errs[0] == nil || !strings.Contains(errs[0].Error(), "the disk is on fire") {
			t.Errorf("%q: %v", text, errs)
		}
	}
}

func TestReadBoundsYAML(t *testing.T) {
	text := "a:\n" + strings.Repeat(strings.Repeat("#", 1<<20-1)+"\n", 32)
	got := listed([]string{Stdin}, text)
	want := []string{"error: stdin:1: longer than 32 MiB: write it as JSON, which is read piece by piece"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A document takes memory for its own text, not for a buffer.
func TestReadBoundsDocuments(t *testing.T) {
	const documents = 1000
	text := strings.Repeat("{apiVersion: v1, kind: Pod}\n---\n", documents)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := listed([]string{Stdin}, text)
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / documents; len(got) != documents || each > 64<<10 {
		t.Errorf("%d objects, %d bytes for each", len(got), each)
	}
}

// forever repeats a text without end.
type forever string

func (e forever) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// An object without an end is neither read nor kept completely.
func TestReadBoundsObjects(t *testing.T) {
	for _, test := range []struct {
		begin  string
		repeat forever
		want   string
	}{
		{"", "\x00", "stdin: longer than 32 MiB: write it as JSON, which is read piece by piece"},
		{`{"a": "`, "b", "stdin:1: longer than 64 MiB: a cluster cannot store such an object"},
		{`{"kind": "List", "items": [{}, {"a": "`, "b", "stdin:1: item 2: longer than 64 MiB: a cluster cannot store such an object"},
		{`{"items": [{}`, `,{"a": 1}`, "stdin:1: item 493448: longer than 64 MiB: a cluster cannot store such an object"},
	} {
		var last error
		for _, err := range Read([]string{Stdin}, io.MultiReader(strings.NewReader(test.begin), test.repeat)) {
			last = err
		}
		if last == nil || last.Error() != test.want {
			t.Errorf("%s…: %v, want %s", test.begin, last, test.want)
		}
	}
}
