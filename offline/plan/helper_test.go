package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

const head = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"

// mustLoad loads a policy from the text after apiVersion and kind.
func mustLoad(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load(policy.File{Name: "policy.yaml", Data: []byte(head + text)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func loadFile(t testing.TB, path string) *policy.Policy {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Load(policy.File{Name: filepath.Base(path), Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// planOf returns the report about the objects in a text.
func planOf(o Options, input string) *Report {
	p := New(o)
	p.AddAll(offline.Read([]string{offline.Stdin}, strings.NewReader(input)))
	return p.Report()
}

// pod returns a Pod with one image, as JSON.
func pod(namespace, name, image string) string {
	return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "` + name + `", "namespace": "` + namespace + `"}, ` +
		`"spec": {"containers": [{"name": "app", "image": "` + image + `"}]}}`
}

// changesOf returns the counts above 0.
func changesOf(c Counts) map[Kind]int {
	m := map[Kind]int{}
	for _, k := range kinds() {
		if n := c.Of(k); n > 0 {
			m[k] = n
		}
	}
	return m
}
