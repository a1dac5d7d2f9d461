package offline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// toUTF16 returns a text in UTF-16, with a byte order mark.
func toUTF16(s string) string {
	b := []byte{0xff, 0xfe}
	for _, c := range utf16.Encode([]rune(s)) {
		b = append(b, byte(c), byte(c>>8))
	}
	return string(b)
}

// In a repository with other files than manifests, files that do not claim to be manifests are skipped.
func TestForeignFiles(t *testing.T) {
	const (
		pod     = "apiVersion: v1\nkind: Pod\n"
		foreign = "skipped: not manifests: they do not have a Kubernetes apiVersion or a kind"
		list    = "a list is not a Kubernetes object: make it the items of a v1 List"
		noKind  = "no kind: a Kubernetes object has a kind, for example kind: Pod"
	)
	tests := []struct {
		name, file, text string
		want             []string
	}{
		{"npm", "package.json", `{"name": "x", "dependencies": {}}`, []string{foreign}},
		{"JSON with comments", "tsconfig.json", "{\n  // a comment\n  \"compilerOptions\": {},\n}\n", []string{foreign}},
		{"JSON with a comma too many", "a.json", `{"a": [1,], "b": 2}`, []string{foreign}},
		{"JSON with items", "a.json", `{"items": [{"a": 1}, {"b": 2}], "c": 3}`, []string{foreign}},
		{"Grafana", "datasources.yaml", "apiVersion: 1\ndatasources: []\n", []string{foreign}},
		{"a manifest with a number", "a.yaml", "apiVersion: 1\nkind: Pod\n", []string{
			"1: apiVersion is a number, but must be a string",
		}},
		{"a JSON Schema", "a.json", "{\n  \"properties\": {\n    \"kind\": {\n    }\n  }\n}\n", []string{foreign}},
		{"a JSON Schema with a comma too many", "a.json", "{\n \"properties\": {\n  \"kind\": {},\n }\n}\n", []string{foreign}},
		{"a list", "list.json", `[{"kind": "Pod"}]`, []string{"1: " + list}},
		{"a list with blank lines", "a.json", "\n[\n  {\n    \"metadata\": {\"kind\": 1},\n    \"apiVersion\": \"v1\"\n  }\n]\n",
			[]string{"2: " + list}},
		{"a list in YAML", "a.yaml", "- apiVersion: v1\n  kind: Pod\n", []string{"1: " + list}},
		{"a list of other objects", "a.json", `[{"name": {"kind": "Pod"}}, {"kind": "Pod"}]`, []string{foreign}},
		{"a list with a number", "a.json", `[{"apiVersion": 1}]`, []string{foreign}},
		{"a list of texts", "a.json", `["kind", "apiVersion"]`, []string{foreign}},
		{"a list that ends early", "a.json", `[{"name": `, []string{foreign}},
		{"a list that ends after its kind", "a.json", `[{"kind": `, []string{"1: " + list}},
		{"a list with a comment", "a.json", "[\n  // c\n  {\n    \"metadata\": {},\n    \"kind\": \"Pod\"\n  }\n]\n", []string{
			"4: not YAML: did not find expected ',' or ']'",
		}},
		{"a broken list in YAML", "a.yaml", "# Pods\n- kind: Pod\n  metadata: {name: a\n", []string{
			"3: not YAML: did not find expected ',' or '}'",
		}},
		{"a broken list of other objects", "a.yaml", "- name: a\n  subjects:\n  - kind: {\n", []string{foreign}},
		{"a text", "a.yaml", "only text\n", []string{foreign}},
		{"settings", "docker-compose.yml", "services:\n  web: {image: nginx}\n", []string{foreign}},
		{"metadata of another kind", "a.yaml", "metadata: [a]\nstatus: x\n", []string{foreign}},
		{"invalid YAML", "a.yaml", "a: b: c\n", []string{foreign}},
		{"Alertmanager", "alertmanager.yml", "title: {{ template \"slack.title\" . }}\n", []string{foreign}},
		{"a template", "a.yaml", "a: {{ .Values.b }}\n", []string{"skipped: " + whyTemplate}},
		{"a template with a kind", "a.yaml", "kind: Pod\nmetadata:\n  name: {{ $name }}\n", []string{"skipped: " + whyTemplate}},
		{"a suite", "a_test.yaml", "policy: [p.yaml]\ncases: []\n", []string{"skipped: " + whySuite}},
		{"a test of another tool", "a_test.yaml", "rule_files: [a.yaml]\ntests: []\n", []string{foreign}},
		{"values", "values.yaml", "a: 1\n", []string{"skipped: " + whyChart}},
		{"UTF-16", "a.yaml", toUTF16("a: b\n"), []string{foreign}},
		{"UTF-16 that claims to be a manifest", "a.yaml", toUTF16(pod), []string{"the input is UTF-16: save it as UTF-8"}},
		{"UTF-16 that begins with its apiVersion", "a.yaml", toUTF16("apiVersion: v1\nitems: []\n"), []string{
			"the input is UTF-16: save it as UTF-8",
		}},
		{"JSON with a comment", "a.json", "{\n    // c\n    \"apiVersion\": \"v1\",\n    \"kind\": \"Pod\"}", []string{
			"4: not YAML: did not find expected ',' or '}'",
		}},
		{"upper case", "A.YAML", pod, []string{"Pod"}},
		{"upper case JSON", "A.JSON", `{"apiVersion": "v1", "kind": "Pod"}`, []string{"Pod"}},
		{"hidden", ".a.yaml", pod, []string{"skipped: hidden"}},
		{"in a hidden directory", ".github/a.yaml", pod, []string{"skipped: hidden"}},

		{"a kind alone", "a.yaml", "kind: Pod\n", []string{
			"1: Pod has no apiVersion: write it next to kind, for example apiVersion: v1",
		}},
		{"an apiVersion alone", "a.yaml", "apiVersion: v1\n", []string{"1: " + noKind}},
		{
			"a broken manifest with indented lines", "a.yaml", "# web\n---\n  kind: Pod\n  metadata: {name: a\n",
			[]string{"4: not YAML: did not find expected ',' or '}'"},
		},
		{"a broken manifest", "a.yaml", "kind: Pod\nmetadata: {name: a\n", []string{"2: not YAML: did not find expected ',' or '}'"}},
		{
			"a broken rule of Prometheus", "a.yaml",
			"kind: PrometheusRule\na: \"{{ $value }} {{ .Labels.x }}\"\nb: |\n  {{ $labels.x }}\nc: [a\n",
			[]string{"5: not YAML: did not find expected ',' or ']'"},
		},
		{"a truncated manifest", "a.json", `{"kind": "Pod", "metadata": {`, []string{
			"1: the JSON is truncated: it ends before the object does",
		}},
		{"a broken manifest with its kind at the end", "a.json", "{\n  \"metadata\": {,},\n  \"kind\": \"Pod\"\n}\n", []string{
			"2: not JSON: invalid character ',' at start of string (expecting '\"')",
		}},
		{"a manifest beside what is none", "a.yaml", "a: 1\n---\n" + pod, []string{"1: " + noKind, "Pod"}},
		{"what is none beside a manifest", "a.yaml", pod + "---\na: 1\n", []string{"Pod", "4: document 2: " + noKind}},
		{"a List with such an item", "a.json", `{"kind": "List", "items": [{"a": 1}]}`, []string{"1: item 1: " + noKind}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range map[string]string{tt.file: tt.text, "other.yaml": "apiVersion: v1\nkind: Service\n"} {
				name = filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for object, err := range Read([]string{dir}, nil) {
				switch {
				case err != nil:
					_, text, _ := strings.Cut(strings.TrimPrefix(err.Error(), dir+"/"), ":")
					got = append(got, strings.TrimSpace(text))
				case object.Kind != "Service":
					got = append(got, object.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A file that is passed by name is always read.
func TestNamedFiles(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n": "error: stdin:1: no kind: a Kubernetes object has a kind, for example kind: Pod",
		"kind: Pod\nspec: {{ .X }}\n": "error: stdin:1: not YAML: a key is a mapping or a list, but must be a string; " +
			"it contains {{, like a template: render it first, for example with helm template",
		"title: {{ template \"x\" . }}\n": "error: stdin:1: not YAML: a key is a mapping or a list, but must be a string",
		toUTF16("kind: Pod\n"):            "error: stdin: the input is UTF-16: save it as UTF-8",
		"k\x00i\x00n\x00d\x00":            "error: stdin: the input is UTF-16: save it as UTF-8",
		"\x00k\x00i\x00n\x00d":            "error: stdin: the input is UTF-16: save it as UTF-8",
	} {
		if diff := cmp.Diff([]string{want}, listed([]string{Stdin}, text)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}
