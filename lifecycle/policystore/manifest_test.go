package policystore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evergate/evergate/policy"
)

// If a policy is written as a block, its errors have positions in the manifest.
func TestUnwrap(t *testing.T) {
	const (
		configMap = "apiVersion: v1\nkind: ConfigMap\n"
		head      = "apiVersion: evergate.dev/v1alpha1\n    kind: EvergatePolicy\n    "
		block     = configMap + "data:\n  policy.yaml: |\n    " + head
		unknown   = ": x: unknown field"
		quoted    = "apiVersion: evergate.dev/v1alpha1\\nkind: EvergatePolicy\\nx: a\\n"
	)
	for name, test := range map[string]struct{ text, want string }{
		"a policy":             {"kind: EvergatePolicy\nx: ConfigMap\n", "m.yaml:2:1" + unknown},
		"a block":              {block + "services:\n    - {zebra: a}\n", "m.yaml:8:8: services[0].zebra: unknown field"},
		"line ends of Windows": {strings.ReplaceAll(block+"x: a\n", "\n", "\r\n"), "m.yaml:7:5" + unknown},
		"a syntax error": {
			block + "services: @\n",
			"m.yaml:7: not valid YAML: found character that cannot start any token; indent with spaces instead of tabs, " +
				"and quote values that begin with @, % or a backquote",
		},
		"an alias": {
			block + "hosts: [*.apps.corp]\n",
			"m.yaml:7: not valid YAML: did not find expected alphabetic or numeric character; quote values that begin with *",
		},
		"a block that begins with empty lines": {
			configMap + "data:\n  a.yaml: |\n\n\n    " + head + "x: b\n", "m.yaml:9:5" + unknown,
		},
		"a block with an indentation of its own": {
			configMap + "data:\n  a.yaml: |4-\n      # a comment\n      kind: EvergatePolicy\n      x: b\n",
			"m.yaml:7:7" + unknown,
		},
		"a block of a later object": {
			"apiVersion: v1\nkind: Namespace\n---\n# a comment\n" + block + "x: a\n", "m.yaml:11:5" + unknown,
		},
		"a List": {
			"kind: List\nitems:\n- kind: ConfigMap\n  data:\n    a.yaml: |\n      x: a\n", "m.yaml:6:7" + unknown,
		},
		"two keys, in the order of their names": {
			configMap + "data:\n  b.yaml: |\n    x: a\n  a.yaml: |\n    x: b\n  c.txt: z\n",
			"m.yaml:5:5" + unknown + "\nm.yaml:7:5" + unknown,
		},
		"a text in quotes": {configMap + `data: {a.yaml: "` + quoted + `"}`, "m.yaml: a.yaml:3:1" + unknown},
		"JSON": {
			`{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a.yaml": "x: a"}}`, "m.yaml: a.yaml:1:1" + unknown,
		},
		"YAML in braces": {"{apiVersion: v1,\nkind: ConfigMap,\ndata: {a.yaml: 'x: a'}}", "m.yaml: a.yaml:1:1" + unknown},
		"binaryData":     {configMap + "binaryData: {a.yaml: eDogYQ==}\n", "m.yaml: a.yaml:1:1" + unknown},
		"no base64":      {configMap + "binaryData: {a.yaml: '='}\n", "m.yaml:3:22: binaryData.a.yaml is not base64"},
		"no policy":      {configMap + "data: {a: b}\n", "m.yaml: no key of the ConfigMap ends in .yaml or .yml"},
		"a key that is not text": {
			configMap + "data:\n  a.yaml:\n    x: a\n",
			"m.yaml:5:5: a.yaml is not text: write a policy as a.yaml: |, with its lines indented below",
		},
		"a key twice": {
			configMap + "data:\n  a.yaml: |\n    x: a\n  a.yaml: b\n",
			"m.yaml:5:5" + unknown + "\nm.yaml:6:3: duplicate key a.yaml, first set on line 4",
		},
		"a manifest that is not YAML": {
			configMap + "data:\n  a.yaml: |\n  services: []\n  x: y: z\n",
			"m.yaml:6: not valid YAML: mapping values are not allowed in this context; check the indentation, and quote " +
				"values that contain a colon and a space",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Load(Unwrap([]policy.File{{Name: "m.yaml", Data: []byte(test.text)}})...)
			if err == nil {
				t.Fatal("no error")
			}
			var got []string
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if line, _, _ = strings.Cut(line, "; known here"); !strings.Contains(line, "is required") {
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(strings.Split(test.want, "\n"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A mistake in one file of a directory does not hide the mistakes in the others.
func TestUnwrapReportsAll(t *testing.T) {
	const block = "kind: ConfigMap\ndata:\n  a.yaml: "
	_, err := policy.Load(Unwrap([]policy.File{
		{Name: "a.yaml", Data: []byte(block + "|\n    x: @\n  b: [\n")}, {Name: "b.yaml", Data: []byte(block + "[]\n")},
		{Name: "c.yaml", Data: []byte("kind: ConfigMap\n")}, {Name: "d.yaml", Data: []byte("x: a\n")},
		{Name: "e.yaml", Data: []byte(block + "|\n    x: a\n  b.yaml: []\n")},
	})...)
	var got []string
	for _, p := range policy.Problems(err) {
		if message, _, _ := strings.Cut(p.Message, ";"); !strings.Contains(message, "is required") {
			message, _, _ = strings.Cut(message, ":")
			got = append(got, fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, message))
		}
	}
	want := []string{
		"a.yaml:5:0: not valid YAML", "b.yaml:3:11: a.yaml is not text",
		"c.yaml:0:0: no key of the ConfigMap ends in .yaml or .yml", "d.yaml:1:1: unknown field",
		"e.yaml:4:5: unknown field", "e.yaml:5:11: b.yaml is not text",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// kubectl apply fails if the annotations of the ConfigMap would be too long, and no API server accepts more than 1 MiB
// of data.
func TestUnwrapMeasures(t *testing.T) {
	const head = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nallowEmpty: true\n# <&>\"ä\\\t"
	problems := func(data []byte) (first string) {
		p, err := policy.Load(Unwrap([]policy.File{{Name: "policy.yaml", Data: data}})...)
		if err != nil {
			return policy.Problems(err)[0].Message
		}
		for _, warning := range p.WarningProblems() {
			first += warning.Message
		}
		return first
	}
	for _, metadata := range []map[string]any{
		{"name": "evergate-policy", "namespace": "evergate-system"},
		{"name": "a", "annotations": map[string]any{"a/b": "cä<", "d": ""}},
	} {
		// of returns a manifest with a comment of some bytes, and the size of its annotations.
		of := func(size int) (manifest []byte, annotations int) {
			applied := unstructured.Unstructured{Object: runtime.DeepCopyJSON(map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
				"data": map[string]any{"policy.yaml": head + strings.Repeat("x", size)},
			})}
			manifest, _ = json.Marshal(applied.Object)
			if applied.GetAnnotations() == nil { // as kubectl does
				applied.SetAnnotations(map[string]string{})
			}
			data, _ := runtime.Encode(unstructured.UnstructuredJSONScheme, &applied)
			annotations = len(lastApplied) + len(data)
			for key, value := range applied.GetAnnotations() {
				annotations += len(key) + len(value)
			}
			return manifest, annotations
		}
		_, least := of(0)
		for size, want := range map[int]string{
			maxAnnotations - least: "", maxAnnotations - least + 1: "kubectl apply fails",
			maxData - len(head):     "kubectl apply fails",
			maxData - len(head) + 1: "a ConfigMap cannot have 1,048,577 bytes of data, limit 1,048,576",
		} {
			text := []byte(head + strings.Repeat("x", size))
			manifest, _ := of(size)
			inputs := [][]byte{manifest}
			if metadata["annotations"] == nil {
				inputs = append(inputs, text)
			}
			if size >= maxData-len(head) {
				binary, _ := json.Marshal(map[string]any{
					"kind": "ConfigMap", "metadata": metadata, "binaryData": map[string]any{"a.yaml": text},
				})
				inputs = append(inputs, binary)
			}
			for i, input := range inputs {
				if got := problems(input); !strings.HasPrefix(got, want) || want == "" && got != "" {
					t.Errorf("%v, input %d of %d bytes: %s, want %s", metadata, i, size, got, want)
				}
			}
		}
	}
}

// Keys are merged in the order of their names, like the keys of a mounted ConfigMap.
func TestUnwrapOrder(t *testing.T) {
	const manifest = "kind: ConfigMap\ndata:\n  b.yaml: b\n  a.yaml: a\n"
	files := Unwrap([]policy.File{{Name: "m.yaml", Data: []byte(manifest)}})
	if len(files) != 2 || string(files[0].Data) != "a" {
		t.Errorf("%v", files)
	}
}

// The hash of a policy is the same in a manifest and in a file.
func TestUnwrapKeepsTheHash(t *testing.T) {
	const manifest = "kind: ConfigMap\ndata:\n  a.yaml: |\n    apiVersion: evergate.dev/v1alpha1\n" +
		"    kind: EvergatePolicy\n    services:\n    - {name: a, mode: enforce, types: {denied: [NodePort]}}\n"
	p, err := policy.Load(Unwrap([]policy.File{{Name: "m.yaml", Data: []byte(manifest)}})...)
	must(t, err)
	_, block, _ := strings.Cut(manifest, "|\n    ")
	if want := hash(t, file("other.yaml", strings.ReplaceAll(block, "\n    ", "\n"))); p.Hash() != want {
		t.Errorf("hash %s, want %s", p.Hash(), want)
	}
}
