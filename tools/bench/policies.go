package main

import (
	"fmt"
	"strings"
)

// The number of entries in the policies. The results are for the example, and the other policies must cost the same.
const (
	mirrors, rules         = 20, 24
	manyMirrors, manyRules = 10_000, 1_000
	owners, hostsOfOwner   = 500, 100
)

// examplePolicy returns a policy with mirrors entries and rules. Ten rules apply to the measured Ingresses, nine to the
// Service and four to the HTTPRoute, without findings. The rule for Pods is evaluated in another call than the measured
// rewriting call.
func examplePolicy() string { return policyOf(mirrors, 0) }

// manyPolicy returns a policy with many more of both. As many rules as in the example apply to the namespace of the
// objects, and the others apply to other namespaces.
func manyPolicy() string { return policyOf(manyMirrors, manyRules-rules) }

// ownedPolicy returns a policy that also has owners of many hosts. The namespace of the measured objects belongs to the
// owner of their hosts.
func ownedPolicy() string {
	var b strings.Builder
	b.WriteString(examplePolicy() + "owners:\n")
	for i := range owners {
		team, namespaces := fmt.Sprintf(".team-%d", i), "other-*"
		if i == 0 {
			team, namespaces = "", "team-*"
		}
		fmt.Fprintf(&b, "- {name: owner-%d, mode: enforce, namespaces: [%s], hosts: [", i, namespaces)
		for j := range hostsOfOwner {
			fmt.Fprintf(&b, "shop-%03d%s.apps.corp.example,", j, team)
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

func policyOf(mirrors, foreign int) string {
	var b strings.Builder
	b.WriteString("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nmirrors:\n")
	for i := range mirrors {
		source := fmt.Sprintf("registry-%d.example", i)
		if known := []string{"docker.io", "quay.io", "ghcr.io", "registry.k8s.io", "gcr.io"}; i < len(known) {
			source = known[i]
		}
		fmt.Fprintf(&b, "- {name: m%d, sources: [%s], mirror: %s/%[2]s, mode: enforce}\n", i, source, mirror)
	}
	kinds := []struct {
		name, checks string
		ours         int
	}{
		{"pods", `images: {from: mirrors}`, 1},
		{"ingresses", `hosts: {allowed: ["**.example", "**.example.com"]}, tls: {required: true}`, 10},
		{"routes", `hosts: {required: true, allowed: ["**.example"]}, backends: {crossNamespace: deny}`, 4},
		{"services", `types: {allowed: [ClusterIP, LoadBalancer]}`, 9},
	}
	for _, kind := range kinds {
		fmt.Fprintf(&b, "%s:\n", kind.name)
		for i := range kind.ours {
			fmt.Fprintf(&b, "- {name: our-%s-%d, mode: enforce, match: {namespaces: [team-*]}, %s}\n", kind.name, i, kind.checks)
		}
		for i := range foreign * kind.ours / rules {
			fmt.Fprintf(&b, "- {name: their-%s-%d, mode: enforce, match: {namespaces: [other-%[2]d]}, %[3]s}\n", kind.name, i,
				kind.checks)
		}
	}
	return b.String()
}
