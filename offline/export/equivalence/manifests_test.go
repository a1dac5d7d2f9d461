package equivalence

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/offline/export"
)

// webhookOnly returns the directories in policy/testdata whose policies cannot be exported completely.
func webhookOnly() []string {
	return []string{
		"ingresses/ingressNginx", "services/externalNames", "services/loadBalancers", "services/loadBalancerStatus",
		"mirrors/longest", "mirrors/teams", "pods/from", "routes/filters.denied", "routes/paths.unsafeCharacters",
		"gateways/backends", "gateways/filters", "services/loadBalancerIPs", "ingresses/backends", "pods/pullPolicies",
		"pods/seccompProfiles",
	}
}

// Every manifest in policy/testdata gets the decision that is documented there, both created and as an update of each
// other manifest in its directory.
func TestManifests(t *testing.T) {
	t.Parallel()
	var dirs []string
	for _, block := range []string{"pods", "mirrors", "services", "ingresses", "routes", "gateways"} {
		of, err := filepath.Glob("../../../policy/testdata/" + block + "/*")
		if err != nil || len(of) == 0 {
			t.Fatal(of, err)
		}
		dirs = append(dirs, of...)
	}
	compared := 0
	for _, dir := range dirs {
		name := strings.TrimPrefix(filepath.ToSlash(dir), "../../../policy/testdata/")
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "mirrors/invalid") {
				t.Skip("these policies fail to load")
			}
			text, err := os.ReadFile(filepath.Join(dir, "policy.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			_, entries, _ := strings.Cut(string(text), "kind: EvergatePolicy\n")
			if strings.HasPrefix(name, "ingresses/hosts.") { // without this rule, hosts cannot be exported
				entries += "- {name: alb, mode: enforce, annotations: {denied: [alb.ingress.kubernetes.io/conditions.*]}}\n"
			}
			if strings.HasPrefix(name, "routes/") && !strings.Contains(entries, "\n  kinds:") { // nor OpenShift Routes
				entries = strings.Replace(entries, "mode: enforce", "mode: enforce\n  "+gatewayKinds, 1)
			}
			o := export.Options{Targets: []export.Target{export.VAP, export.MAP}}
			if slices.ContainsFunc(webhookOnly(), func(d string) bool { return name == d || strings.HasPrefix(name, d+".") }) {
				if doc, _ := describe(t, entries); len(export.Export(doc, o).Omissions) == 0 {
					t.Error("it is exported completely")
				}
				return
			}
			s := newSubject(t, entries, o)
			manifests := manifestsIn(t, dir)
			for _, object := range manifests {
				s.compare(t, requestOf(object, nil))
				for _, old := range manifests {
					if old["kind"] == object["kind"] && old["apiVersion"] == object["apiVersion"] {
						s.compare(t, requestOf(object, old))
					}
				}
			}
			compared += s.compared
		})
	}
	if compared < 200 {
		t.Errorf("only %d objects", compared)
	}
}

// manifestsIn returns the objects in a directory, sorted by file.
func manifestsIn(t *testing.T, dir string) []map[string]any {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	var all []map[string]any
	for _, path := range paths {
		if filepath.Base(path) == "policy.yaml" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		object := map[string]any{}
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		all = append(all, asServed(object))
	}
	return all
}

// asServed returns an object in the API server's form. The API server converts older versions of Gateway API, and
// removes null fields from custom resources. An annotation value y stays text, as in YAML 1.2.
func asServed(object map[string]any) map[string]any {
	if spec, ok := object["spec"].(map[string]any); ok {
		elements, _ := spec["tls"].([]any)
		for _, element := range elements { // the API server's type omits empty names
			if element, ok := element.(map[string]any); ok && element["secretName"] == "" {
				delete(element, "secretName")
			}
		}
	}
	meta, _ := object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for key, value := range annotations {
		if value == true {
			annotations[key] = "y"
		}
	}
	if version, _ := object["apiVersion"].(string); strings.HasPrefix(version, "gateway.") {
		object, _ = withoutNulls(object).(map[string]any)
		if strings.HasPrefix(version, "gateway.networking.k8s.io/") {
			object["apiVersion"] = "gateway.networking.k8s.io/v1"
		}
	}
	return object
}

func requestOf(object, old map[string]any) request {
	r := request{object: object, old: old, user: "jane"}
	meta, _ := object["metadata"].(map[string]any)
	if r.namespace, _ = meta["namespace"].(string); r.namespace == "" {
		r.namespace = "default"
	}
	return r
}
