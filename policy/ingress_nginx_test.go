package policy

import (
	"strings"
	"testing"
)

func TestNginxRiskTable(t *testing.T) {
	seen := map[string]bool{}
	count := map[nginxRisk]int{}
	for line := range strings.Lines(nginxRisks) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, word, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		risk, known := nginxRiskOf(name)
		if !known || risk.String() != word || seen[name] {
			t.Errorf("line %q reads as %s, known %t, seen before %t", line, risk, known, seen[name])
		}
		seen[name] = true
		count[risk]++
	}
	// The list that the project publishes, and the two older names.
	want := map[nginxRisk]int{nginxLow: 75 + 1, nginxMedium: 45 + 1, nginxHigh: 10, nginxCritical: 5}
	equal(t, want, count)
}

func TestNginxRiskOf(t *testing.T) {
	for name, want := range map[string]nginxRisk{
		"canary":                nginxLow,
		"app-root":              nginxMedium,
		"auth-url":              nginxHigh,
		"server-snippet":        nginxCritical,
		"canar":                 nginxCritical, // only whole names are known
		"canary ":               nginxCritical,
		"canary Low":            nginxCritical,
		"canary\nx":             nginxCritical,
		"Canary":                nginxCritical,
		"#":                     nginxCritical,
		"":                      nginxCritical,
		"affinity Low\nbackend": nginxCritical,
	} {
		if got, _ := nginxRiskOf(name); got != want {
			t.Errorf("nginxRiskOf(%q) = %s, want %s", name, got, want)
		}
	}
}

// The default prefix of the controller, and the prefixes in annotationPrefixes. Other prefixes with the same start do
// not count.
func TestIngressNginxPrefix(t *testing.T) {
	p := mustLoad(t, "annotationPrefixes: {ingressNginx: [nginx.corp.example]}\n"+
		"ingresses: [{name: r, mode: enforce, ingressNginx: {maxRisk: Low, rewriteTarget: safe}}]\n")
	ing := withAnnotations(
		"nginx.corp.example/app-root", "/a",
		"nginx.corp.example.evil/app-root", "/a",
		"nginx.ingress.kubernetes.io/app-root", "/a",
		"nginx.corp.example/rewrite-target", "?",
		"nginx.corp.example.evil/rewrite-target", "?",
	)
	want := []string{
		`r/ingressNginx.maxRisk: metadata.annotations["nginx.corp.example/app-root"]: has the risk Medium; at most Low is allowed`,
		`r/ingressNginx.maxRisk: metadata.annotations["nginx.corp.example/rewrite-target"]: has the risk Medium; at most Low is allowed`,
		`r/ingressNginx.maxRisk: metadata.annotations["nginx.ingress.kubernetes.io/app-root"]: has the risk Medium; at most Low is allowed`,
		`r/ingressNginx.rewriteTarget: metadata.annotations["nginx.corp.example/rewrite-target"]: "?" contains '?', ` +
			`which can make nginx up to 1.30.0 write beyond a buffer (CVE-2026-42945); leave it out`,
	}
	equal(t, want, sentences(must(p.EvaluateIngress(creating, ing, nil, nil))))
}
