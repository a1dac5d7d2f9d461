package policy

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// Any policy file either always loads as the same policy, or each of its errors has a position.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/load/*.yaml", "testdata/*/*/policy.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, path := range paths {
			f.Add(readFile(f, path))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Load(File{Name: "fuzz.yaml", Data: data})
		if err != nil {
			var errs strict.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("not a list of errors: %v", err)
			}
			for i, e := range errs {
				if i == strict.MaxErrors {
					continue // how many more there are
				}
				if e.File != "fuzz.yaml" || e.Line < 1 || e.Msg == "" ||
					e.Column < 1 && !strings.HasPrefix(e.Msg, "not valid YAML") {
					t.Errorf("does not say where and what: %#v", e)
				}
			}
			return
		}
		again, err := Load(File{Name: "fuzz.yaml", Data: data})
		if err != nil || again.Hash() != p.Hash() || again.Counts() != p.Counts() {
			t.Errorf("loaded once, but then: %v", err)
		}
		svc := &object.Service{Type: "LoadBalancer", ExternalIPs: []string{"192.0.2.1"}, Ports: []object.ServicePort{{Port: 80, NodePort: 30000}}}
		must(Services.Evaluate(p, object.Attributes{Operation: object.Update, Namespace: "team-a"}, svc, svc, nil))
	})
}
