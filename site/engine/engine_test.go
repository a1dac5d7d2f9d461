package engine

import (
	"testing"
	"time"
)

const start = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"

func TestEvaluate(t *testing.T) {
	const hosts = start + "ingresses:\n- name: hosts\n  mode: enforce\n  hosts: {allowed: [\"*.dev.example\"]}\n"
	const ingress = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n" +
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n" +
		"spec:\n  rules:\n  - host: shop.example\n"
	answer := Evaluate([]byte(hosts), []byte(ingress), time.Now())
	if len(answer.Problems) > 0 || answer.Report == nil || answer.Report.Decision != "denied" {
		t.Fatalf("%+v", answer)
	}
	want := Place{"error", 10, 5,
		`hosts/hosts.allowed: spec.rules[0].host: "shop.example" is not allowed; allowed: *.dev.example`}
	if len(answer.Places) != 1 || answer.Places[0] != want {
		t.Errorf("places %+v, want %+v", answer.Places, want)
	}
	if len(answer.Native) != 1 || answer.Native[0].Entry != "ingresses/hosts" {
		t.Errorf("native %+v", answer.Native)
	}
}

// The native export leaves out an exception only until it ends.
func TestEvaluateEnded(t *testing.T) {
	const text = start + "services: [{name: s, mode: enforce, types: {denied: [NodePort]}}]\n" +
		"exceptions: [{name: x, rules: [s], match: {namespaces: [a]}, until: 2029-12-31, reason: r}]\n"
	ends := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for now, omissions := range map[time.Time]int{ends.Add(-time.Second): 1, ends: 0} {
		answer := Evaluate([]byte(text), nil, now)
		if len(answer.Native) != 1 || len(answer.Native[0].Omissions) != omissions {
			t.Errorf("at %s: native %+v", now, answer.Native)
		}
	}
}

func TestEvaluatePolicyWithMistake(t *testing.T) {
	answer := Evaluate([]byte(start+"ingresses:\n- name: hosts\n  mode: enforce\n  host: {}\n"), nil, time.Now())
	if len(answer.Problems) == 0 || answer.Report != nil {
		t.Fatalf("%+v", answer)
	}
	if p := answer.Problems[0]; p.Line != 6 || p.Column != 3 {
		t.Errorf("%+v", answer)
	}
}
