package chart

import (
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.." // of the repository

var update = flag.Bool("update", false, "write the chart again")

// TestChart generates the chart from the manifests. The chart in the repository must be the same, so a change of the
// manifests without make chart fails, and so does a change of the chart by hand.
func TestChart(t *testing.T) {
	want, err := Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, Dir)
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range want {
		if strings.Contains(text, "zz-") || strings.Contains(text, markPort) {
			t.Errorf("%s contains a mark", name)
		}
	}
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("run make chart (-generated +in the repository):\n%s", diff)
	}
}

// files returns the files in a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestForbidden checks that the chart does not contain caBundle, which cert-manager's injector writes, or a feature of
// Helm that reads from the cluster or needs more permissions.
func TestForbidden(t *testing.T) {
	forbidden := regexp.MustCompile(`caBundle|\blookup\b|helm\.sh/hook|\.Capabilities|\.Files`)
	for name, text := range files(t, filepath.Join(root, Dir)) {
		if name == "README.md" || name == "values.yaml" || name == "values.schema.json" {
			continue
		}
		if found := forbidden.FindString(text); found != "" {
			t.Errorf("%s contains %s", name, found)
		}
	}
}

// TestValues checks that there are fewer than 100 values, and that the schema describes each and accepts no others.
func TestValues(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(files(t, filepath.Join(root, Dir))["values.schema.json"]), &schema); err != nil {
		t.Fatal(err)
	}
	n := describe(t, "", schema)
	if n < 30 || n > 99 {
		t.Errorf("there are %d values", n)
	}
	t.Logf("%d values", n)
}

// describe checks the properties of an object in the schema, and returns the number of values.
func describe(t *testing.T, path string, schema map[string]any) int {
	t.Helper()
	if schema["additionalProperties"] != false {
		t.Errorf("%q accepts any value", path)
	}
	properties, n := schema["properties"].(map[string]any), 0
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := properties[name].(map[string]any)
		if sentence, _ := property["description"].(string); !strings.HasSuffix(sentence, ".") {
			t.Errorf("the description of %s%s is %q", path, name, sentence)
		}
		if property["properties"] != nil {
			n += describe(t, path+name+".", property)
		} else {
			n++
		}
	}
	return n
}
