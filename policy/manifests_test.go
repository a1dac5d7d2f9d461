package policy_test

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

var updateManifests = flag.Bool("update-manifests", false, "write the sentences of the manifests again")

// TestManifests reads each manifest in testdata like the server, and evaluates its creation with the policy.yaml next
// to it. The expected sentences are at the top of a manifest, one per line after "# want: ", with the modes of the
// findings about workloads. namespace is the one of manifests that have none. For Pods, the outcomes of the images precede them, after "# image: ", and the Pods are
// evaluated after they have been rewritten. A new file is a new case.
func TestManifests(t *testing.T) {
	testManifests(t, "certificates", "", review.Certificates(), (*policy.Policy).EvaluateCertificate)
	testManifests(t, "dnsEndpoints", "", review.DNSEndpoints(), (*policy.Policy).EvaluateDNSEndpoint)
	testManifests(t, "gateways", "", review.Gateways(), (*policy.Policy).EvaluateGateway)
	testManifests(t, "grants", "", review.Grants(), (*policy.Policy).EvaluateGrant)
	testManifests(t, "ingresses", "team-a", review.Ingresses(), (*policy.Policy).EvaluateIngress)
	testManifests(t, "openshiftRoutes", "", review.OpenShiftRoutes(), (*policy.Policy).EvaluateOpenShiftRoute)
	testManifests(t, "routes", "shop", review.Routes(), (*policy.Policy).EvaluateRoute)
	testManifests(t, "services", "", review.Services(), (*policy.Policy).EvaluateService)
	testManifests(t, "workloads", "", review.Workloads(), (*policy.Policy).EvaluateWorkload)
	for _, block := range []string{"mirrors", "pods"} {
		testManifests(t, block, "", review.Pods(), (*policy.Policy).EvaluatePod)
	}
}

func testManifests[T any](
	t *testing.T, block, namespace string, objects review.Objects[T],
	evaluate func(*policy.Policy, object.Attributes, *T, *T, *policy.Effort) ([]policy.Finding, error),
) {
	t.Helper()
	paths, err := filepath.Glob("testdata/" + block + "/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, path := range paths {
		if filepath.Base(path) == "policy.yaml" || strings.Contains(path, "/invalid/") {
			continue
		}
		t.Run(strings.TrimPrefix(path, "testdata/"), func(t *testing.T) {
			rules := filepath.Join(filepath.Dir(path), "policy.yaml")
			p, err := policy.Load(policy.File{Name: rules, Data: read(t, rules)})
			if err != nil {
				t.Fatal(err)
			}
			a, obj := parse(t, objects, read(t, path))
			a.Namespace = cmp.Or(a.Namespace, namespace)
			var got []string
			if pod, ok := any(obj).(*object.Pod); ok {
				got = rewrite(t, p, a, pod)
			}
			findings, err := evaluate(p, a, obj, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				mode := ""
				if block == "workloads" {
					mode = f.Mode.String() + " "
				}
				got = append(got, "# want: "+mode+f.String())
			}
			compare(t, path, got)
			if bad := strings.HasPrefix(filepath.Base(path), "bad"); bad != (len(findings) > 0) {
				t.Errorf("the name of the file says otherwise: %d findings", len(findings))
			}
		})
	}
}

// parse reads a manifest, and returns the attributes of its creation.
func parse[T any](t *testing.T, objects review.Objects[T], manifest []byte) (object.Attributes, *T) {
	t.Helper()
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(manifest, &head); err != nil {
		t.Fatal(err)
	}
	data, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range objects.Kinds {
		if kind.Name == head.Kind {
			obj, err := objects.ParseAs(kind.Resource, data)
			if err != nil {
				t.Fatal(err)
			}
			return object.Attributes{
				Operation: object.Create, Namespace: head.Metadata.Namespace, Resource: kind.Resource.Name,
			}, obj
		}
	}
	t.Fatalf("%s is another kind", head.Kind)
	return object.Attributes{}, nil
}

// rewrite rewrites the images of a Pod, and returns their outcomes.
func rewrite(t *testing.T, p *policy.Policy, a object.Attributes, pod *object.Pod) (outcomes []string) {
	t.Helper()
	rw, err := p.RewritePod(a, pod, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range rw.Images {
		outcomes = append(outcomes, "# image: "+out.Image.Path()+": "+out.Why())
		if out.Outcome == policy.Rewritten {
			pod.Images[i].Ref = out.To
		}
	}
	return outcomes
}

// compare compares the expected lines of a manifest with the actual ones.
func compare(t *testing.T, path string, got []string) {
	t.Helper()
	var want, rest []string
	for line := range strings.Lines(string(read(t, path))) {
		if strings.HasPrefix(line, "# want: ") || strings.HasPrefix(line, "# image: ") {
			want = append(want, strings.TrimSuffix(line, "\n"))
		} else {
			rest = append(rest, line)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" && !*updateManifests {
		t.Errorf("(-want +got):\n%s", diff)
	} else if diff != "" {
		lines := strings.Join(append(got, ""), "\n") + strings.Join(rest, "")
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
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
