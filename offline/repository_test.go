package offline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// In a directory, a file is read, skipped with a reason, or an error.
func TestForeignFiles(t *testing.T) {
	const (
		pod      = "apiVersion: v1\nkind: Pod\n"
		foreign  = "skipped: " + whyForeign
		template = "skipped: " + whyTemplate
		noKind   = "1: no kind: a Kubernetes object has a kind, for example kind: Pod"
		noAPI    = "1: Pod has no apiVersion: write it next to kind, for example apiVersion: v1"
		brace    = "not YAML: did not find expected ',' or '}'"
	)
	tests := []struct {
		name, file, text string
		want             []string
	}{
		{"JSON with items", "a.json", `{"items": [{"a": 1}, {"b": 2}], "c": 3}`, []string{foreign}},
		{"JSON with items of another product", "a.json",
			`{"items": [{"kind": "drive#file", "metadata": 1}], "kind": "drive#fileList"}`, []string{foreign}},
		{"Grafana", "datasources.yaml", "apiVersion: 1\ndatasources: []\n", []string{foreign}},
		{"the index of a repository of charts", "index.yaml", "apiVersion: v1\nentries: {}\n", []string{foreign}},
		{"a pipeline", "drone.yml", "kind: pipeline\ntype: docker\nname: default\n", []string{foreign}},
		{"a pipeline with a version", "a.yml", "apiVersion: v1\nkind: pipeline\n", []string{foreign}},
		{"a kind with a hyphen", "a.yaml", "kind: Pod-Template\n", []string{foreign}},
		{"a kind that is a number", "a.yaml", "apiVersion: v1\nkind: 1\n", []string{foreign}},
		{"a workflow", "ci.yaml", "jobs: {build: {steps: [{run: 'echo ${{ x }}'}]}}\n", []string{foreign}},
		{"a suite", "a_test.yaml", "policy: [p.yaml]\ncases: []\n", []string{foreign}},
		{"values", "values.yaml", "a: 1\n", []string{foreign}},
		{"a placeholder", "a.yaml", "# to come\n", []string{"skipped: empty"}},
		{"null", "a.yaml", "null\n---\n~\n", []string{"skipped: empty"}},
		{"another type", "a.txt", pod, []string{"skipped: " + whyOther}},
		{"in a hidden directory", ".github/a.yaml", pod, []string{"skipped: hidden"}},
		{"a kustomization", "kustomization.yml", "resources: [a.yaml]\n", []string{"Kustomization"}},
		{"a kustomization without an extension", "Kustomization", "kind: Component\n", []string{"Component"}},
		{"a part of a kustomization", "kustomization.yaml", "metadata: {name: a}\n", []string{"Kustomization a"}},

		{"Alertmanager", "alertmanager.yml", "title: {{ template \"slack.title\" . }}\n", []string{template}},
		{"a template", "a.yaml", "a: {{ .Values.b }}\n", []string{template}},
		{"a template with a kind", "a.yaml", "kind: Pod\nmetadata:\n  name: {{ $name }}\n", []string{template}},
		{"a template in JSON", "a.json", "{{- range . }}\n{\"kind\": \"Pod\"}\n{{ end }}\n", []string{template}},
		{"a template with a whole object", "a.yaml", pod + "---\n{{- end }}\n", []string{template}},
		{"a template with an image", "a.yaml", pod + "spec: {containers: [{image: '{{ .x }}'}]}\n---\n{{ if .y }}\n", []string{template}},
		{"a template that parses", "a.yaml", pod + "metadata: {labels: {a: '{{ .x }}'}}\n", []string{"Pod"}},
		{"a template of alerts that parses", "a.yaml", pod + "summary: of {{ $labels.pod }}\n", []string{"Pod"}},

		{"a kind alone", "a.yaml", "kind: Pod\n", []string{noAPI}},
		{"metadata alone", "a.yaml", "metadata: {name: a}\n", []string{noKind}},
		{"a kind without a capital letter", "a.yaml", "kind: pod\nmetadata: {}\n", []string{strings.Replace(noAPI, "Pod", "pod", 1)}},
		{"an apiVersion that is a number", "a.yaml", "apiVersion: 1\nkind: Pod\n", []string{
			"1: apiVersion is a number, but must be a string",
		}},
		{"a kind and metadata that are wrong", "a.yaml", "apiVersion: v1\nkind: 1\nmetadata: {}\n", []string{
			"1: kind is a number, but must be a string",
		}},
		{"JSON with a comma too many, which is YAML", "a.json", `{"a": [1,], "b": 2}`, []string{foreign}},
		{"JSON with comments", "tsconfig.json", "{\n  // a comment\n  \"a\": {}\n}\n", []string{"4: " + brace}},
		{"a list that ends early", "a.json", `[{"name": `, []string{"1: the JSON is truncated: it ends before the object does"}},
		{"UTF-16", "a.yaml", toUTF16("a: b\n"), []string{"the input is UTF-16: save it as UTF-8"}},
		{"invalid YAML", "a.yaml", "a: b: c\n", []string{"1: not YAML: mapping values are not allowed in this context; check the indentation, and quote values that contain a colon and a space"}},
		{"a broken manifest", "a.yaml", "kind: Pod\nmetadata: {name: a\n", []string{"2: " + brace}},
		{
			"a broken rule of Prometheus", "a.yaml",
			"kind: PrometheusRule\na: \"{{ $value }} {{ .Labels.x }}\"\nb: '{{ c }}' # of {{ d }}\nc: [a\n",
			[]string{"4: not YAML: did not find expected ',' or ']'"},
		},
		{"a template with quotes before its action", "a.yaml", "a: [\"b\", 'c', {{ d }}]\n", []string{template}},
		{"a manifest next to another document", "a.yaml", "a: 1\n---\n" + pod, []string{"Pod", "1 of 2 documents: " + foreign}},
		{"a List with such an item", "a.json", `{"items": [{"a": 1}], "kind": "List"}`, []string{
			strings.Replace(noKind, "1:", "1: item 1:", 1),
		}},
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
			equal(t, tt.want, got)
		})
	}
}

// Every path below a directory is read, skipped with a reason, or an error: also links, pipes, and directories that
// cannot be opened.
func TestEveryPathIsCounted(t *testing.T) {
	parent := t.TempDir()
	t.Chdir(parent)
	var err error
	const pod = "apiVersion: v1\nkind: Pod\n"
	for name, text := range map[string]string{
		"dir/pod.yaml": pod, "dir/sub/job.yaml": pod, "dir/closed/a.yaml": pod, "dir/.git/config": "", "dir/ignored/a.yaml": pod,
		"dir/" + IgnoreFile: "ignored/\n", "shared/pod.yaml": pod, "README.md": "",
	} {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755))
		err = errors.Join(err, os.WriteFile(name, []byte(text), 0o600))
	}
	for name, target := range map[string]string{
		"file.yaml": "sub/job.yaml", "out.yaml": "../shared/pod.yaml", "readme": "../README.md", "inner": "sub", "self": ".",
		"outer": "../shared", "absolute": filepath.Join(parent, "shared"), "gone": "nowhere", "gone.yml": "nowhere",
		"loop": "loop", "device.json": "/dev/zero",
	} {
		err = errors.Join(err, os.Symlink(target, filepath.Join("dir", name)))
	}
	err = errors.Join(err, syscall.Mkfifo("dir/pipe.yaml", 0o600), syscall.Mkfifo("dir/pipe", 0o600), os.Chmod("dir/closed", 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod("dir/closed", 0o755) }) // so that it can be removed
	const link, outside = "skipped: " + whyLink, "a symbolic link that is absolute or leads out of the directory"
	want := []string{
		"error: dir/.git/: skipped: hidden",
		"error: dir/absolute: " + outside,
		"error: dir/closed/: .evergateignore: permission denied",
		"error: dir/device.json: " + outside,
		"dir/file.yaml:1: v1 Pod",
		"error: dir/gone: no such file or directory",
		"error: dir/gone.yml: no such file or directory",
		"error: dir/ignored/: skipped: ignored",
		"error: dir/inner: " + link,
		"error: dir/loop: too many levels of symbolic links",
		"error: dir/out.yaml: " + outside,
		"error: dir/outer: " + outside,
		"error: dir/pipe: skipped: " + whyOther,
		"error: dir/pipe.yaml: not a regular file: to read a pipe, write - and connect it to standard input",
		"dir/pod.yaml:1: v1 Pod",
		"error: dir/readme: skipped: " + whyOther,
		"error: dir/self: " + link,
		"dir/sub/job.yaml:1: v1 Pod",
	}
	if os.Getuid() == 0 { // root can open every directory
		want[2] = "dir/closed/a.yaml:1: v1 Pod"
	}
	equal(t, want, listed([]string{"dir"}, ""))
}

// Documents in a file that is passed by name, and in standard input, are read in the same way. If none is a manifest,
// that is an error.
func TestNamedFiles(t *testing.T) {
	for text, want := range map[string][]string{
		"a: 1\n": {"error: stdin:1: no kind: a Kubernetes object has a kind, for example kind: Pod"},
		"a: 1\n---\napiVersion: v1\nkind: Pod\n---\n[]\n": {
			"stdin:3: v1 Pod", "error: stdin: 2 of 3 documents: skipped: " + whyForeign,
		},
		"kind: Pod\nspec: {{ .X }}\n": {"error: stdin:1: not YAML: a key is a mapping or a list, but must be a string; " +
			"it contains {{, like a template: render it first, for example with helm template"},
		"a: [\"{{ x }}\"\n":      {"error: stdin:1: not YAML: did not find expected ',' or ']'"},
		toUTF16("kind: Pod\n"):   {"error: stdin: the input is UTF-16: save it as UTF-8"},
		"k\x00i\x00n\x00d\x00":   {"error: stdin: the input is UTF-16: save it as UTF-8"},
		"\x00k\x00i\x00n\x00d":   {"error: stdin: the input is UTF-16: save it as UTF-8"},
		"null\n---\n# comment\n": {"error: stdin: no object in it"},
	} {
		if diff := cmp.Diff(want, listed([]string{Stdin}, text)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

// Each file that a kustomization refers to is skipped, unless it is in a list of whole objects.
func TestPartsOfKustomizations(t *testing.T) {
	t.Chdir(t.TempDir())
	const pod = "apiVersion: v1\nkind: Pod\n"
	err := os.WriteFile("kustomization.yaml", []byte(`
resources: [a.yaml]
generators: [./b.yaml]
patches: [{path: c.yaml}, {patch: "kind: Pod"}]
configMapGenerator: [{name: x, files: [key=d.yaml], literals: [FILE=a.yaml]}]
helmCharts: [{valuesFile: e.yaml, additionalValuesFiles: [f.yaml]}]
patchesStrategicMerge: [g.yaml]
`), 0o600)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		err = errors.Join(err, os.WriteFile(name+".yaml", []byte(pod), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.yaml:1: v1 Pod", "b.yaml:1: v1 Pod"}
	for _, name := range []string{"c", "d", "e", "f", "g"} {
		want = append(want, "error: "+name+".yaml: skipped: "+whyPatch)
	}
	want = append(want, "kustomization.yaml:2: kustomize.config.k8s.io/v1beta1 Kustomization")
	if diff := cmp.Diff(want, listed([]string{"."}, "")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
