package worst

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed policy.yaml
var checks string

// One is a policy with one entry of each kind in which every check is switched on and enforced.
func One() string {
	return policyOf(func(entry string) string { return fill(entry, 0, "enforce", "kube-*", "[/a-z]v[0-9]+.*") })
}

// Ten is a policy with ten entries of each kind, in all modes, with patterns that have to look at all of a value.
func Ten() string {
	return policyOf(func(entry string) string {
		var b strings.Builder
		for i := range 10 {
			mode := [...]string{"enforce", "warn", "audit"}[i%3]
			b.WriteString(fill(entry, i, mode, fmt.Sprintf("*%d*q*z*", i), fmt.Sprintf(".*x.*y.*%d.*", i)))
		}
		return b.String()
	})
}

// Regexes is a policy with ten rules, each of which compares every annotation of a Service with a regular expression of
// its own.
func Regexes() string {
	var b strings.Builder
	b.WriteString("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nservices:\n")
	for i := range 10 {
		fmt.Fprintf(&b, "- {name: r%d, mode: enforce, "+
			"annotations: {deniedValues: [{key: \"*\", value: \".*x.*y.*%[1]d.*\"}]}}\n", i)
	}
	return b.String()
}

// policyOf makes a policy of what entries returns for the entry of each kind.
func policyOf(entries func(entry string) string) string {
	var b, entry strings.Builder
	end := func() {
		b.WriteString(entries(entry.String()))
		entry.Reset()
	}
	for line := range strings.Lines(checks) {
		if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "  ") {
			entry.WriteString(line)
			continue
		}
		end()
		b.WriteString(line)
	}
	end()
	return b.String()
}

func fill(entry string, i int, mode, glob, regex string) string {
	source := fmt.Sprintf("registry-%d.example", i)
	if wildcards := []string{"docker.io", `"*.gcr.io"`, `"**.test"`}; i < len(wildcards) {
		source = wildcards[i]
	}
	if i%2 == 1 { // there is one of the two, or the other
		entry = strings.Replace(entry, "types: {allowed: [ClusterIP]}", "types: {denied: [LoadBalancer, ExternalName]}", 1)
	}
	return strings.NewReplacer("$name", fmt.Sprint(i), "$mode", mode, "$glob", glob, "$regex", regex, "$sources", source,
		"$i", fmt.Sprint(i)).Replace(entry)
}
