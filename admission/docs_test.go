package admission

import (
	"os"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy"
)

// The denial that docs/policy.md shows is the one that its rule gives.
func TestDocumentedDenial(t *testing.T) {
	p, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(`apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
ingresses:
- name: team-hosts
  mode: enforce
  hosts: {allowed: ["*.apps.example.com"]}
  tls: {required: true}
`)})
	if err != nil {
		t.Fatal(err)
	}
	ing := &policy.Ingress{Rules: []policy.IngressRule{{Host: "shop.example"}}}
	findings := must(p.EvaluateIngress(policy.Attributes{Operation: policy.Create}, ing, nil, nil))
	v := &Decision{Findings: findings, Policy: "3f2a91c04b7d"}
	want := "denied the request: " + v.denial() + "\n"

	page, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), want) {
		t.Errorf("docs/policy.md does not show\n%s", want)
	}
}

// must returns v, and panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
