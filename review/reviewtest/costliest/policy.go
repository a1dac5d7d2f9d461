package costliest

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed policy.yaml
var checks string

// One returns a policy with one entry of each kind that enforces every check.
func One() string {
	return policyOf(func(entry string) string { return fill(entry, 0, "enforce", "kube-*", "[/a-z]v[0-9]+.*") })
}

// Ten returns a policy with ten entries of each kind, in all modes, with patterns that have to scan a whole value.
func Ten() string {
	return policyOf(func(entry string) (all string) {
		for i := range 10 {
			mode := [...]string{"enforce", "warn", "audit"}[i%3]
			all += fill(entry, i, mode, fmt.Sprintf("*%d*q*z*", i), fmt.Sprintf(".*x.*y.*%d.*", i))
		}
		return all
	})
}

// policyOf returns a policy that contains the result of entries for the entry of each kind.
func policyOf(entries func(entry string) string) string {
	return regexp.MustCompile("(?m)^- .*\n(  .*\n)*").ReplaceAllStringFunc(checks, entries)
}

func fill(entry string, i int, mode, glob, regex string) string {
	source := fmt.Sprintf("registry-%d.example", i)
	if wildcards := []string{"docker.io", `"*.gcr.io"`, `"**.test"`}; i < len(wildcards) {
		source = wildcards[i]
	}
	if i%2 == 1 { // allowed and denied exclude each other
		entry = strings.Replace(entry, "types: {allowed: [ClusterIP]}", "types: {denied: [LoadBalancer, ExternalName]}", 1)
	}
	return strings.NewReplacer("$name", fmt.Sprint(i), "$mode", mode, "$glob", glob, "$regex", regex, "$sources", source,
		"$i", fmt.Sprint(i)).Replace(entry)
}
