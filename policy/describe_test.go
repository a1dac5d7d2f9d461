package policy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Describe has every field that is set, in normal form, and no other.
func TestDescribe(t *testing.T) {
	doc, err := Describe(File{Name: "b.yaml", Data: []byte(`apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
sharedGatewayNamespaces: [gateways]
services:
- name: open
  mode: warn
  exclude: {labels: [a, b=c*]}
  externalNames: {}
  nodePorts: {allowed: ["30000-30999", "443"]}
exceptions:
- {name: ticket, rules: [open/*], match: {namespaces: [x]}, until: 2030-01-01, reason: why}
`)}, File{Name: "a.yaml", Data: []byte(`apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: "off", sources: [index.docker.io, "*.gcr.io"], mirror: "mirror.example:443/x/{registry}"}
pods:
- {name: p, mode: enforce, message: hi, images: {from: mirrors, allowed: [], denied: [ghcr.io:443/a/*]}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	want := Document{
		Settings: Fields{"sharedGatewayNamespaces": []any{"gateways"}},
		Entries: []Entry{
			{Block: "mirrors", Name: "hub", Mode: Off, Pos: Position{"a.yaml", 4, 3, "mirrors[0]"}, Fields: Fields{
				"sources": []any{"docker.io", "*.gcr.io"},
				"mirror":  Fields{"place": "mirror.example/x", "written": "mirror.example:443/x", "keepRegistry": "true"},
			}},
			{Block: "pods", Name: "p", Mode: Enforce, Message: "hi", Pos: Position{"a.yaml", 6, 3, "pods[0]"}, Fields: Fields{
				"images": Fields{"from": "true", "allowed": []any{}, "denied": []any{"ghcr.io/a/*"}},
			}},
			{Block: "services", Name: "open", Mode: Warn, Pos: Position{"b.yaml", 5, 3, "services[0]"}, Fields: Fields{
				"exclude":       Fields{"labels": []any{"a", "b=c*"}},
				"externalNames": Fields{},
				"nodePorts":     Fields{"allowed": []any{"30000-30999", "443"}},
			}},
			{Block: "exceptions", Name: "ticket", Mode: Enforce, Pos: Position{"b.yaml", 11, 3, "exceptions[0]"}, Fields: Fields{
				"rules": []any{"open/*"}, "match": Fields{"namespaces": []any{"x"}}, "until": "2030-01-01", "reason": "why",
			}},
		},
	}
	if diff := cmp.Diff(want, doc, cmpopts.IgnoreFields(Document{}, "HostAnnotations")); diff != "" {
		t.Error(diff)
	}
}

// Describe has the annotations that claim hosts under each prefix that is read.
func TestDescribeHostAnnotations(t *testing.T) {
	doc, err := Describe(File{Name: "a.yaml", Data: []byte(`apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
annotationPrefixes: {externalDNS: [DNS.corp.example]}
services: [{name: s, mode: enforce, hosts: {allowed: []}}]
`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []HostAnnotation{
		{Key: "external-dns.kubernetes.io/hostname", Grammar: "dns"}, {Key: "dns.corp.example/hostname", Grammar: "dns"},
		{Key: "dns.corp.example/internal-hostname", Grammar: "dns"},
	} {
		if !slices.Contains(doc.HostAnnotations["Service"], want) {
			t.Errorf("lacks %v", want)
		}
	}
	if got := doc.HostAnnotations["Gateway"]; len(got) != 3 {
		t.Errorf("of Gateways %v", got)
	}
}

// Describe has the fields of a parent, which its text alone does not separate.
func TestDescribeParents(t *testing.T) {
	doc, err := Describe(File{Name: "a.yaml", Data: []byte(`apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
routes:
- name: r
  mode: enforce
  parents: {allowed: [{kind: Gateway, namespace: "infra-*", name: shared, sectionName: https}]}
`)})
	if err != nil {
		t.Fatal(err)
	}
	parents, _ := doc.Entries[0].Fields["parents"].(Fields)
	allowed, _ := parents["allowed"].([]any)
	if len(allowed) != 1 {
		t.Fatalf("parents are %v", doc.Entries[0].Fields)
	}
	got, _ := allowed[0].(Fields)
	delete(got, "text")
	want := Fields{"kind": "Gateway", "namespace": "infra-*", "name": "shared", "sectionName": "https"}
	equal(t, want, got, "fields")
}
