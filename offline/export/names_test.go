package export

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy"
)

// policyNames returns the possible names of exported policies and of their bindings.
func policyNames() []string {
	var names []string
	for _, k := range newExporter(policy.Document{}, Options{}).kinds {
		for _, s := range stages() {
			names = append(names, "evergate-"+k.name+"-"+s.name)
		}
	}
	slices.Sort(names)
	return append(names, "evergate-mirrors")
}

// The ClusterRole in the manifests contains exactly the names of all policies that can be exported.
func TestNames(t *testing.T) {
	role, err := os.ReadFile("../../kustomize/components/backstop/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	name := regexp.MustCompile(`(?:- |resourceNames: \[)(evergate-[a-z-]+)\b`)
	for _, m := range name.FindAllStringSubmatch(string(role), -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(policyNames(), got); diff != "" {
		t.Errorf("-exporter +role:\n%s", diff)
	}
}

// Every exported object has a name that policyNames returns.
func TestNamesAreAll(t *testing.T) {
	known := policyNames()
	doc := describe(t, `mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example}]
pods: [{name: a, mode: enforce, images: {from: mirrors}}, {name: b, mode: warn, images: {digest: required}}]
services: [{name: c, mode: audit, types: {denied: [NodePort]}}]
ingresses: [{name: d, mode: enforce, tls: {required: true}}]
routes: [{name: e, mode: enforce, kinds: [HTTPRoute], hosts: {required: true}}]
gateways: [{name: f, mode: warn, protocols: {allowed: [TLS]}}]
`)
	for _, o := range Export(doc, Options{Targets: []Target{VAP, MAP}}).Objects {
		name := o.Object.(interface{ GetName() string }).GetName()
		if !slices.Contains(known, name) {
			t.Errorf("%s is not known", name)
		}
	}
}

// The native policies in the overlays are the export of the policy next to them.
func TestOverlays(t *testing.T) {
	for _, dir := range []string{"../../examples/overlays/backstop", "../../kustomize/overlays/native"} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, "policy.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			file := policy.File{Name: "policy.yaml", Data: text}
			p, err := policy.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := policy.Describe(file)
			if err != nil {
				t.Fatal(err)
			}
			r := Export(doc, Options{Targets: []Target{VAP, MAP}, Exempt: ExemptNamespaces(), Hash: p.Hash()})
			manifests, err := r.Text()
			if err != nil || len(r.Omissions) > 0 {
				t.Fatal(err, r.Omissions)
			}
			golden(t, filepath.Join("..", dir, "backstop.yaml"), manifests)
		})
	}
}
