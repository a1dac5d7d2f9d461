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

// The objects of the self-probe break the self-probe's policy. For each kind, the explanation lists the entry with its
// finding, also if the entry is in a rule set, and a set that is not evaluated has no findings.
func TestEveryKindIsExplained(t *testing.T) {
	_, text, _ := strings.Cut(SelfProbePolicy(), "kind: EvergatePolicy\n")
	text = strings.ReplaceAll(text, "mode: enforce", "mode: enforce, match: {set: edge}")
	text = strings.Replace(text, ", match: {set: edge}", "", 1) // the mirror, which sets can't have
	p := load(t, text)
	for _, w := range Webhooks() {
		i := slices.IndexFunc(Kinds(), func(k Kind) bool { return k.Kind.Resource == w.Kinds[0].Resource })
		if w.Mutates || i < 0 { // policies aren't explained
			continue
		}
		k := Kinds()[i]
		of := k.Kind.Resource
		o, err := k.Object(p, object.Attributes{Namespace: "a", Operation: object.Create}, []byte("{"+w.SelfProbe+"}"), nil)
		if err != nil {
			t.Fatalf("%s: %v", w.Path, err)
		}
		for _, sets := range [][]string{nil, {"edge"}} {
			a, err := o.Decide(Question{Policy: p, Explain: true, Existing: true, Sets: sets})
			if err != nil || len(a.Findings) != len(sets) {
				t.Fatalf("%s of %s with the sets %v: %+v, %v", w.Path, of.Name, sets, a, err)
			}
			applying := 0
			for _, r := range a.Rules {
				applying += r.Findings
				if (r.Why == "in rule set edge, which is not evaluated: add --set edge") != (sets == nil) ||
					sets != nil && !strings.HasPrefix(r.Why, "in rule set edge: ") {
					t.Errorf("%s of %s with the sets %v: %s", w.Path, of.Name, sets, r.Why)
				}
			}
			if len(a.Rules) == 0 || applying != len(sets) {
				t.Errorf("%s of %s with the sets %v: %+v", w.Path, of.Name, sets, a.Rules)
			}
		}
	}
}

// The templates block doesn't accept the custom resources that another block evaluates.
func TestTemplatesOfOtherBlocks(t *testing.T) {
	n := 0
	for _, k := range Kinds() {
		r := k.Kind.Resource
		text := "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\ntemplates:\n- {group: " + r.Group +
			", versions: [v1], kind: K, resource: " + r.Name + ", paths: [spec.template]}"
		if !strings.Contains(r.Group, ".") || strings.HasSuffix(r.Group, ".k8s.io") && !strings.Contains(r.Group, "gateway") {
			continue // a group that is built into Kubernetes
		}
		n++
		_, err := policy.Load(policy.File{Name: "p", Data: []byte(text)})
		want := r.Name + "." + r.Group + " is validated by the block "
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if n < 10 {
		t.Errorf("%d kinds", n)
	}
}
