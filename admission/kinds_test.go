package admission

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// Each path uses the modes of only the entries that apply to it.
func TestModesOfPaths(t *testing.T) {
	modes := policy.Modes{policy.Mirrors: policy.Off, policy.Pods: policy.Audit, policy.Workloads: policy.Warn,
		policy.Ingresses: policy.Warn, policy.Services: policy.Enforce,
		policy.Certificates: policy.Warn, policy.DNSEndpoints: policy.Audit, policy.Routes: policy.Audit,
		policy.Gateways: policy.Audit, policy.Grants: policy.Warn, policy.OpenShiftRoutes: policy.Warn}
	got := map[string]policy.Mode{}
	for _, w := range Webhooks() {
		got[w.Path] = w.Strictest(modes)
	}
	want := map[string]policy.Mode{
		"/mutate/pods": policy.Off, "/mutate/pods/again": policy.Off, "/validate/pods": policy.Audit,
		"/validate/workloads": policy.Warn,
		"/validate/ingresses": policy.Warn, "/validate/services": policy.Enforce, "/validate/services/status": policy.Enforce,
		"/validate/certificates": policy.Warn, "/validate/dnsendpoints": policy.Audit,
		"/validate/routes": policy.Audit, "/validate/openshiftroutes": policy.Warn,
		"/validate/gateways": policy.Audit, "/validate/grants": policy.Warn,
		"/validate/policy": policy.Enforce, // an invalid policy is always denied
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}

// The manifests call every path, and no other path.
func TestKitCallsEveryPath(t *testing.T) {
	base, _ := filepath.Glob("../kustomize/base/*webhook*.yaml")
	components, err := filepath.Glob("../kustomize/components/*/*webhook*.yaml")
	if err != nil || len(base) == 0 || len(components) == 0 {
		t.Fatalf("no webhook configurations: %v", err)
	}
	var called, served []string
	for _, file := range slices.Concat(base, components) {
		text := must(os.ReadFile(file))
		for line := range strings.Lines(string(text)) {
			if _, path, ok := strings.Cut(line, " path: "); ok {
				path, _, _ = strings.Cut(path, ",")
				called = append(called, path)
			}
		}
	}
	for _, w := range Webhooks() {
		served = append(served, w.Path)
	}
	slices.Sort(called)
	slices.Sort(served)
	called = slices.Compact(called) // workloads have several webhooks, one for each place of a template
	if diff := cmp.Diff(served, called); diff != "" {
		t.Errorf("served (-), called by the kit (+):\n%s", diff)
	}
}

// The self-probe has an object for every path.
func TestEveryPathIsProbed(t *testing.T) {
	for _, w := range Webhooks() {
		if w.SelfProbe == "" {
			t.Errorf("%s: there is no field selfProbe in the row of %s", w.Path, w.Kinds[0].Name)
		}
	}
}

// An offline answer about a Pod must not fail because a patch would be too long to send.
func TestExistingPodNeedsNoPatch(t *testing.T) {
	p := must(policy.Load(policy.File{Name: "p.yaml", Data: []byte(SelfProbePolicy())}))
	const container = `{"name": "c", "image": "source.selfprobe.invalid/app@sha256:` +
		`0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},`
	pod := []byte(`{"spec": {"containers": [` + strings.TrimSuffix(strings.Repeat(container, 300), ",") + `]}}`)
	for _, existing := range []bool{false, true} {
		read := must(rows()[0].offline(p)[0].Object(p, object.Attributes{Operation: object.Create}, pod, nil))
		a, err := read.Decide(Question{Policy: p, Existing: existing})
		if err != nil || len(a.Rewriting.Images) != 300 {
			t.Errorf("existing %t: %v", existing, err)
		}
	}
}
