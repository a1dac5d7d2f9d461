package admission

import (
	"os"
	"strings"
	"testing"

	"github.com/evergate/evergate/examples"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

// TestDocumentedDenial checks that docs/policy.md shows the denial of its rule.
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
	ing := &object.Ingress{Rules: []object.IngressRule{{Host: "shop.example"}}}
	findings := must(p.EvaluateIngress(object.Attributes{Operation: object.Create}, ing, nil, nil))
	v := &Decision{Findings: findings, Policy: "3f2a91c04b7d"}
	want := "denied the request: " + v.denial() + "\n"

	page := must(os.ReadFile("../docs/policy.md"))
	if !strings.Contains(string(page), want) {
		t.Errorf("docs/policy.md does not show\n%s", want)
	}
}

// TestReadmeDenial checks that the README shows what make request prints for the Ingress of the examples.
func TestReadmeDenial(t *testing.T) {
	p := must(policy.Load(policy.File{Name: "dev.yaml", Data: examples.DevPolicy()}))
	r := must(review.Ingresses().Decode(must(os.ReadFile("../examples/reviews/ingress.json"))))
	d := &Decision{Findings: must(p.EvaluateIngress(r.Attributes, r.Object, nil, nil)), Policy: p.Hash()}
	want := "the denial: " + d.denial() + "\n"
	page := must(os.ReadFile("../README.md"))
	if len(d.Findings) != 2 || !strings.Contains(string(page), want) {
		t.Errorf("README.md does not show two findings:\n%s", want)
	}
}

// must returns v, and panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
