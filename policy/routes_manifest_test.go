package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

// Every directory in testdata/routes has a policy.yaml and manifests, which are created in the namespace shop. The
// expected sentences are at the top of a manifest, one per line after "# want: ". A new file is a new case.
func TestRouteManifests(t *testing.T) {
	readManifests(t, "routes", func(t *testing.T, p *policy.Policy, manifest []byte) ([]policy.Finding, error) {
		a, route := parseRoute(t, manifest)
		return policy.Routes.Evaluate(p, a, route, nil, nil)
	})
}

// testdata/gateways has the same structure, for Gateways and ListenerSets, which are created in their namespaces.
func TestGatewayManifests(t *testing.T) {
	readManifests(t, "gateways", func(t *testing.T, p *policy.Policy, manifest []byte) ([]policy.Finding, error) {
		data, err := yaml.YAMLToJSON(manifest)
		if err != nil {
			t.Fatal(err)
		}
		g, err := review.Gateways().Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return policy.Gateways.Evaluate(p, object.Attributes{Operation: object.Create, Namespace: g.Namespace}, g, nil, nil)
	})
}

// readManifests evaluates each manifest in the directories of a block, like the server.
func readManifests(
	t *testing.T, block string, evaluate func(*testing.T, *policy.Policy, []byte) ([]policy.Finding, error),
) {
	t.Helper()
	paths, err := filepath.Glob("testdata/" + block + "/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, path := range paths {
		if filepath.Base(path) == "policy.yaml" {
			continue
		}
		t.Run(strings.TrimPrefix(path, "testdata/"+block+"/"), func(t *testing.T) {
			rules := filepath.Join(filepath.Dir(path), "policy.yaml")
			p, err := policy.Load(policy.File{Name: rules, Data: read(t, rules)})
			if err != nil {
				t.Fatal(err)
			}
			manifest := read(t, path)
			findings, err := evaluate(t, p, manifest)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, f := range findings {
				got = append(got, f.String())
			}
			for line := range strings.Lines(string(manifest)) {
				if s, ok := strings.CutPrefix(line, "# want: "); ok {
					want = append(want, strings.TrimSuffix(s, "\n"))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if bad := strings.HasPrefix(filepath.Base(path), "bad"); bad != (len(got) > 0) {
				t.Errorf("the name of the file says otherwise: %d findings", len(got))
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// parseRoute reads the manifest of a route like the server, with the attributes of its creation.
func parseRoute(t *testing.T, manifest []byte) (object.Attributes, *object.Route) {
	t.Helper()
	data, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var head struct {
		Kind string `json:"kind"`
	}
	if err := yaml.Unmarshal(manifest, &head); err != nil {
		t.Fatal(err)
	}
	route, err := review.Routes().Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	resource := strings.ToLower(head.Kind) + "s"
	return object.Attributes{Operation: object.Create, Namespace: "shop", Resource: resource}, route
}
