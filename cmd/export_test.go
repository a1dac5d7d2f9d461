package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runExport runs evergate export with a policy, and returns its exit code and output.
func runExport(t *testing.T, policy string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	text := "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + policy
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	args = append(append([]string{"export"}, args...), "--policy", path)
	code = Run(t.Context(), args, nil, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// Without an omission the exit code is 0. With an omission, nothing is written and it is 2. With --best-effort, the
// rest is written and it is 1.
func TestExport(t *testing.T) {
	const hub = "mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}]\n"
	const exact = "services: [{name: s, mode: enforce, types: {denied: [NodePort]}}]\n"
	const partly = "services: [{name: s, mode: enforce, types: {denied: [NodePort]}, externalNames: {}}]\n"
	const ends = "exceptions: [{name: x, rules: [s], match: {namespaces: [a]}, until: 2029-12-31, reason: r}]\n"
	const omission = "policy.yaml:3:12: services[0].externalNames: the API server does not have a list of public " +
		"top-level domains: " +
		"leave the entry to the webhook, with --best-effort\n"
	for name, test := range map[string]struct {
		policy         string
		args           []string
		code           int
		stdout, stderr string // the beginning of each; empty if nothing is written
	}{
		"exact":   {exact, []string{"--target", "vap,map"}, 0, "# services: denies objects", ""},
		"omitted": {partly, []string{"--target", "vap"}, 2, "", "evergate: " + omission},
		"best effort": {partly, []string{"--target", "vap", "--best-effort"}, 1, "# not exported: " + omission, "evergate: " +
			omission},
		"coverage": {partly, []string{"--target", "vap", "--coverage"}, 0,
			"policy.yaml:3:12: services s: partly native: except externalNames (the API server does not have a list of public " +
				"top-level domains)\n", ""},
		"an exception": {exact + ends, []string{"--target", "vap", "--at", "2029-12-31"}, 2, "",
			"evergate: policy.yaml:4:14: exceptions[0]: it ends on 2029-12-31, and CEL has no clock, so the export leaves out " +
				"services s: export again after that, or leave the entries to the webhook, with --best-effort\n"},
		"an exception that has ended": {exact + ends, []string{"--target", "vap", "--at", "2030-01-01"}, 0,
			"# services: denies objects", ""},
		"conditions": {exact, []string{"--target", "vap", "--webhook-conditions"}, 0,
			"# Patches for an overlay whose backstop was exported from policy ", ""},
		"two reports": {exact, []string{"--target", "vap", "--webhook-conditions", "--coverage"}, 2, "",
			"evergate: --coverage and --webhook-conditions exclude each other: leave one out\n"},
		"no target": {exact, nil, 2, "", "evergate: no target: add a target, for example --target vap,map\n"},
		"nodes": {hub, []string{"--target", "hosts-toml", "--no-fallback"}, 0,
			"# /etc/containerd/certs.d/docker.io/hosts.toml\nserver = \"https://m.example/v2/hub\"\n", ""},
		"nodes and a warning": {strings.Replace(hub, "enforce", "warn", 1), []string{"--target", "idms"}, 2, "",
			"evergate: policy.yaml:3:11: mirrors[0].mode: a container runtime cannot warn: export it when it is in mode " +
				"enforce\n"},
		"nodes and more": {hub, []string{"--target", "hosts-toml,map"}, 2, "",
			"evergate: a target for container runtimes is exported separately: leave out other targets, --coverage and " +
				"--webhook-conditions\n"},
		"no nodes": {hub, []string{"--target", "map", "--no-fallback"}, 2, "",
			"evergate: --no-fallback is for container runtimes: add --target hosts-toml, registries-conf or idms\n"},
		"what target": {exact, []string{"--target", "vpa"}, 2, "",
			`evergate: unknown --target "vpa": use vap, map, static, hosts-toml, registries-conf, idms` + "\n"},
		"no policy": {"pods: x", []string{"--target", "vap"}, 2, "", "evergate: policy.yaml:3:7: pods: want a list"},
		"empty": {"", []string{"--target", "vap"}, 2, "",
			"evergate: the policy is empty, there is no entry in it"},
		"empty on purpose": {"allowEmpty: true\n", []string{"--target", "vap"}, 0, "", ""},
		"own namespace": {exact, []string{"--target", "vap", "--exempt-namespace", ""}, 2, "",
			"evergate: --exempt-namespace is empty: add at least Evergate's namespace\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runExport(t, test.policy, test.args...)
			if code != test.code || !begins(stdout, test.stdout) || !begins(stderr, test.stderr) {
				t.Errorf("exit code %d\n%.300s\n%s", code, stdout, stderr)
			}
		})
	}
}

// begins reports whether text begins with with. If with is empty, text must be empty too.
func begins(text, with string) bool {
	return strings.HasPrefix(text, with) && (with != "" || text == "")
}
