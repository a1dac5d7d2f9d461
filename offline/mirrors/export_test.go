package mirrors

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy"
)

var update = flag.Bool("update", false, "write the golden files")

const header = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"

// describe returns the document of a policy without its header.
func describe(t *testing.T, text string) policy.Document {
	t.Helper()
	doc, err := policy.Describe(policy.File{Name: "policy.yaml", Data: []byte(header + text)})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
		t.Errorf("%s (%v): %s", path, err, diff)
	}
}

// Container runtimes get the active mirrors. Entries that they cannot express are omitted.
func TestExport(t *testing.T) {
	const text = `mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.example/docker.io}
- {name: k8s, mode: enforce, sources: [registry.k8s.io], mirror: k8s.mirror.example}
- {name: acme, mode: enforce, sources: [ghcr.io/acme], mirror: "mirror.example:5000/acme"}
- {name: google, mode: enforce, sources: [gcr.io, us.gcr.io], mirror: "mirror.example/{registry}"}
- {name: team, mode: enforce, sources: [quay.io], mirror: mirror.example/quay, match: {namespaces: [x]}, imagePullSecret: s}
- {name: others, mode: enforce, sources: [quay.io, lscr.io], mirror: mirror.example/others}
- {name: off, mode: warn, sources: ["*.gcr.io"], mirror: "mirror.example/{registry}", until: 2030-01-01}
- {name: trial, mode: enforce, sources: [ecr.example], mirror: m.example, exclude: {images: [ecr.example/x]}}
- {name: lscr, mode: enforce, sources: [lscr.io/x], mirror: mirror.example/lscr}
- {name: path, mode: warn, sources: [registry.k8s.io/etcd], mirror: mirror.example/etcd-trial}
- {name: "no", mode: "off", sources: [nvcr.io], mirror: mirror.example/nvcr}
`
	doc := describe(t, text)
	for _, target := range Targets() {
		for suffix, never := range map[string]bool{"": false, ".no-fallback": true} {
			out, _ := Export(doc, Options{Target: target.Name, NoFallback: never})
			golden(t, string(target.Name)+suffix, string(out))
		}
	}
}

// After its date, an exclude block has no effect, and an entry is off.
func TestExportEnded(t *testing.T) {
	doc := describe(t, `mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub, exclude: {images: [docker.io/x], until: 2030-01-01}}
- {name: team, mode: warn, sources: [docker.io], mirror: m.example/x, match: {namespaces: [x]}, until: 2030-01-01}
`)
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for now, want := range map[time.Time]int{{}: 4, at.Add(-time.Hour): 4, at.AddDate(0, 0, 1): 0} {
		if _, omissions := FromPolicy(doc, Options{Target: IDMS, Now: now}); len(omissions) != want {
			t.Errorf("%v: %v", now, omissions)
		}
	}
}
