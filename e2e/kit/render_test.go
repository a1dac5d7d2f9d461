package kit

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pmezard/go-difflib/difflib"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const root = "../.." // of the repository

var update = flag.Bool("update", false, "write the golden files again")

func read(t testing.TB) *Kit {
	t.Helper()
	k, err := Read(root)
	must(t, err)
	return k
}

func (k *Kit) render(t testing.TB, dir string) []byte {
	t.Helper()
	out, err := k.Render(dir)
	must(t, err)
	return out
}

// add adds an overlay of a test and returns its directory.
func (k *Kit) add(t testing.TB, kustomization string) string {
	t.Helper()
	const dir = "test/overlay"
	must(t, k.Add(dir, kustomization))
	return dir
}

// eachOverlay runs a test for every overlay in the manifests and in the examples.
func eachOverlay(t *testing.T, test func(t *testing.T, k *Kit, dir string)) {
	for _, dir := range read(t).Overlays() {
		t.Run(path.Base(dir), func(t *testing.T) { test(t, read(t), dir) })
	}
}

// eachServingOverlay runs a test for every overlay that contains the server.
func eachServingOverlay(t *testing.T, test func(t *testing.T, k *Kit, dir string)) {
	eachOverlay(t, func(t *testing.T, k *Kit, dir string) {
		if bytes.Contains(k.render(t, dir), []byte("\nkind: Deployment\n")) {
			test(t, k, dir)
		}
	})
}

// fullGolden is the overlay whose complete output is stored. The golden file of every other overlay is a diff to it.
const fullGolden = "fail-open"

// TestGolden compares the rendered overlays with golden files, so the diff of a commit shows its effect on a cluster.
func TestGolden(t *testing.T) {
	base := read(t).render(t, "kustomize/overlays/"+fullGolden)
	eachOverlay(t, func(t *testing.T, k *Kit, dir string) {
		got := diffOf(t, base, k.render(t, dir))
		file := filepath.Join("testdata", path.Base(dir)+".golden.diff")
		if path.Base(dir) == fullGolden {
			file, got = filepath.Join("testdata", fullGolden+".golden.yaml"), string(base)
		}
		if *update {
			must(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		must(t, err)
		equal(t, string(want), got, "run with -update if this is intended")
	})
}

// manifest is an object of an overlay.
type manifest struct{ name, text string }

// manifests returns the objects of a stream. It removes the expressions of exported policies, because the tests of
// offline/export/equivalence compare their decisions, and offline/export/testdata contains them.
func manifests(t *testing.T, stream []byte) []manifest {
	t.Helper()
	var all []manifest
	for document := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n"), "\n---\n") {
		var object map[string]any
		must(t, yaml.Unmarshal([]byte(document), &object))
		metadata, kind := object["metadata"].(map[string]any), object["kind"].(string)
		m := manifest{fmt.Sprintf("%s %v", kind, metadata["name"]), document + "\n"}
		if strings.HasSuffix(kind, "AdmissionPolicy") && strings.Contains(document, "component: backstop\n") {
			for _, field := range []string{"matchConditions", "mutations", "validations", "variables"} {
				delete(object["spec"].(map[string]any), field)
			}
			text, err := yaml.Marshal(object)
			must(t, err)
			m.text = string(text)
		}
		all = append(all, m)
	}
	return all
}

// diffOf returns the objects that differ between two outputs: the names of the removed ones, the added ones, and the
// lines that differ in the others. It does not contain line numbers, so a change of one object does not affect other
// parts of the diff.
func diffOf(t *testing.T, from, to []byte) string {
	t.Helper()
	var out strings.Builder
	was, is := manifests(t, from), manifests(t, to)
	find := func(all []manifest, name string) int {
		return slices.IndexFunc(all, func(m manifest) bool { return m.name == name })
	}
	for _, m := range was {
		if find(is, m.name) < 0 {
			out.WriteString("- " + m.name + "\n")
		}
	}
	for _, m := range is {
		at := find(was, m.name)
		if at < 0 {
			out.WriteString("+ " + m.name + "\n" + m.text)
			continue
		}
		diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
			A: difflib.SplitLines(was[at].text), B: difflib.SplitLines(m.text), Context: 1,
		})
		must(t, err)
		if diff != "" {
			out.WriteString("~ " + m.name + "\n")
			writeHunks(&out, regexp.MustCompile(`(?m)^@@ .* @@\n`).Split(diff, -1)[1:])
		}
	}
	return out.String()
}

// writeHunks writes the parts of a diff. It writes equal parts once with their number, such as the same change of all
// webhooks.
func writeHunks(out *strings.Builder, hunks []string) {
	times := map[string]int{}
	for _, hunk := range hunks {
		times[hunk]++
	}
	for _, hunk := range hunks {
		if times[hunk] > 0 {
			fmt.Fprintf(out, "@@ %d×\n%s", times[hunk], hunk)
			times[hunk] = 0
		}
	}
}

// TestNamespace adds an overlay with one field to each of the others. The other namespace must appear wherever the
// original one did, and nothing else may change.
func TestNamespace(t *testing.T) {
	eachOverlay(t, func(t *testing.T, k *Kit, dir string) {
		was := "evergate-system"
		if dir == "examples/overlays/platform" {
			was = "platform-admission"
		}
		got := k.render(t, k.add(t, `
namespace: another-name
resources: [../../`+dir+`]
transformers: [../../kustomize/wiring]`))
		want := bytes.ReplaceAll(k.render(t, dir), []byte(was), []byte("another-name"))
		equal(t, string(want), string(got))
	})
}

// TestComponentsFollow adds components to an overlay with another namespace and another image. The components must use
// this namespace and this image without repeating them.
func TestComponentsFollow(t *testing.T) {
	k := read(t)
	out := string(k.render(t, k.add(t, `
resources: [../../examples/overlays/platform]
components:
- ../../kustomize/components/client-certificate
- ../../kustomize/components/jaeger
- ../../kustomize/components/preflight
- ../../kustomize/components/prometheus
transformers: [../../kustomize/wiring]`)))
	for _, name := range []string{"evergate-kube-apiserver", "evergate-preflight", "evergate-jaeger",
		"evergate-dashboard"} {
		if !strings.Contains(out, "name: "+name+"\n") {
			t.Fatalf("there is no %s", name)
		}
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "evergate-system") {
			t.Error(line)
		}
		if image, ok := strings.CutPrefix(line, "image: "); ok && strings.Contains(image, "evergate") &&
			image != "mirror.corp.example/ghcr.io/evergate/evergate:v0.1.0" {
			t.Error(line)
		}
	}
}

// TestEveryWebhookFollows checks that a setting of an overlay or a component for all validating webhooks applies to
// each.
func TestEveryWebhookFollows(t *testing.T) {
	k := read(t)
	everyNamespace := k.add(t, `
resources: [../../kustomize/overlays/fail-closed]
components: [../../kustomize/components/host-kinds, ../../kustomize/components/match-all-namespaces]
transformers: [../../kustomize/wiring]`)
	for dir, optOut := range map[string]bool{"kustomize/overlays/fail-closed": false, everyNamespace: true} {
		for _, w := range webhooksOf(t, k.render(t, dir)) {
			if slices.Contains([]string{policy, mutate, again}, w.Name) {
				continue
			}
			opens := slices.Contains([]string{balancer, workloads, cronJobs, podTemplates}, w.Name)
			if fails := *w.FailurePolicy == admissionv1.Fail; fails == opens {
				t.Errorf("%s: the failurePolicy of %s is %s", dir, w.Name, *w.FailurePolicy)
			}
			if *w.TimeoutSeconds != 3 {
				t.Errorf("%s: the timeout of %s is %d s", dir, w.Name, *w.TimeoutSeconds)
			}
			operator := metav1.LabelSelectorOpIn
			if optOut {
				operator = metav1.LabelSelectorOpNotIn
			}
			selected := func(r metav1.LabelSelectorRequirement) bool { return r.Key == optIn && r.Operator == operator }
			if !slices.ContainsFunc(w.NamespaceSelector.MatchExpressions, selected) {
				t.Errorf("%s: %s does not select namespaces by %s %s", dir, w.Name, optIn, operator)
			}
		}
	}
}

// TestHostKinds checks that the webhooks of the component have the failurePolicy and the namespaces of the webhook for
// Ingresses, in every overlay, and whether match-all-namespaces comes before or after the component.
func TestHostKinds(t *testing.T) {
	const (
		hostKinds      = "../../kustomize/components/host-kinds"
		everyNamespace = "../../kustomize/components/match-all-namespaces"
	)
	for _, components := range []string{hostKinds, hostKinds + ", " + everyNamespace, everyNamespace + ", " + hostKinds} {
		for _, overlay := range []string{"fail-open", "fail-closed"} {
			k := read(t)
			out := k.render(t, k.add(t, `
resources: [../../kustomize/overlays/`+overlay+`]
components: [`+components+`]
patches:
- target: {kind: ExemptNamespaces}
  patch: |-
    - {op: add, path: /names/-, value: team-storage}
transformers: [../../kustomize/wiring]`))
			webhooks := webhooksOf(t, out)
			want := webhooks["ingresses.validate.evergate.dev"]
			names := want.NamespaceSelector.MatchExpressions[1].Values
			if wantFails := overlay == "fail-closed"; (*want.FailurePolicy == admissionv1.Fail) != wantFails ||
				!slices.Contains(names, "team-storage") {
				t.Fatalf("%s: that of Ingresses fails %s, and excludes %s", overlay, *want.FailurePolicy, names)
			}
			for _, kind := range []string{"certificates", "dnsendpoints"} {
				got := webhooks[kind+".validate.evergate.dev"]
				if diff := cmp.Diff(want.NamespaceSelector, got.NamespaceSelector); diff != "" {
					t.Errorf("%s, %s, %s: -ingresses +got:\n%s", overlay, components, kind, diff)
				}
				if diff := cmp.Diff(want.FailurePolicy, got.FailurePolicy); diff != "" {
					t.Errorf("%s, %s, %s: -ingresses +got:\n%s", overlay, components, kind, diff)
				}
			}
		}
	}
}

// TestPolicyName mounts another ConfigMap. The policy guard must check that ConfigMap.
func TestPolicyName(t *testing.T) {
	k := read(t)
	const rename = `
resources: [../../kustomize/overlays/fail-closed]
patches:
- target: {kind: Deployment, name: evergate}
  patch: |-
    - {op: replace, path: /spec/template/spec/volumes/1/configMap/name, value: our-policy}
transformers: [../../kustomize/wiring]`
	out := string(k.render(t, k.add(t, rename)))
	if want := `metadata.name.matches("^" + "our-policy" + "(-[a-z0-9]{10})?$")`; !strings.Contains(
		strings.Join(strings.Fields(out), " "), want) {
		t.Errorf("no webhook has the condition %s", want)
	}
}

// TestRequirePolicy checks that the component adds the flag to every overlay with a server.
func TestRequirePolicy(t *testing.T) {
	eachServingOverlay(t, func(t *testing.T, k *Kit, dir string) {
		out := string(k.render(t, k.add(t, `
resources: [../../`+dir+`]
components: [../../kustomize/components/require-policy]
transformers: [../../kustomize/wiring]`)))
		shown := bytes.Contains(k.render(t, dir), []byte("- --require-policy\n")) // the example itself sets it
		if n := strings.Count(out, "- --require-policy\n"); n != 1 && !shown {
			t.Errorf("the flag is set %d times", n)
		}
	})
}

// withoutSettings removes the ConfigMap of the settings.
func withoutSettings(out []byte) string {
	var rest []string
	for document := range strings.SplitSeq(string(out), "\n---\n") {
		if !strings.Contains(document, "\n  name: evergate-settings\n") {
			rest = append(rest, document)
		}
	}
	return strings.Join(rest, "\n---\n")
}

// TestSettings changes each setting in its one place, and checks that all uses change and nothing else.
func TestSettings(t *testing.T) {
	for _, test := range []struct {
		setting, value string
		replaced       []string // in the output: old, new
	}{
		{"mirrors", `["a.example/", "b.example/x/"]`, []string{`["mirror.corp.example/"]`, `["a.example/", "b.example/x/"]`}},
		{"monitoringNamespace", "metrics", []string{"kubernetes.io/metadata.name: monitoring\n",
			"kubernetes.io/metadata.name: metrics\n"}},
		{"collector", "http://collector.tracing.svc:14317", []string{
			"value: http://otel-collector.observability.svc:4317\n", "value: http://collector.tracing.svc:14317\n",
			"kubernetes.io/metadata.name: observability\n", "kubernetes.io/metadata.name: tracing\n",
			"port: 4317\n", "port: 14317\n",
		}},
	} {
		t.Run(test.setting, func(t *testing.T) {
			k := read(t)
			const overlay = `
resources: [../../kustomize/overlays/fail-open]
components: [../../kustomize/components/collector]
transformers: [../../kustomize/wiring]
`
			before := withoutSettings(k.render(t, k.add(t, overlay)))
			got := withoutSettings(k.render(t, k.add(t, overlay+`patches:
- patch: |-
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: evergate-settings}
    data: {`+test.setting+`: '`+test.value+`'}
`)))
			for i := 0; i < len(test.replaced); i += 2 {
				if n := strings.Count(before, test.replaced[i]); n != 1 {
					t.Errorf("it contains %q %d times", test.replaced[i], n)
				}
			}
			want := strings.NewReplacer(test.replaced...).Replace(before)
			equal(t, want, got)
		})
	}
}

// TestMoreMemory renders the patch of the page on memory. Both settings must change, and nothing else.
func TestMoreMemory(t *testing.T) {
	k := read(t)
	const overlay = "resources: [../../kustomize/overlays/fail-closed]\n"
	before := string(k.render(t, k.add(t, overlay)))
	got := string(k.render(t, k.add(t, overlay+block(t, "out-of-memory.md", "yaml", "GOMEMLIMIT"))))
	want := strings.NewReplacer("value: 400MiB\n", "value: 800MiB\n", "memory: 512Mi\n", "memory: 1Gi\n").Replace(before)
	lines := func(text string) []string { return slices.Sorted(strings.Lines(text)) } // the order changes
	if diff := cmp.Diff(lines(want), lines(got)); diff != "" || want == before {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestComponentsAreShown checks that every component is in an overlay or an example, and therefore in all tests. The
// exception is jaeger-v1: TestJaegersAreAlike checks that it is the same as jaeger with another image.
func TestComponentsAreShown(t *testing.T) {
	k := read(t)
	var all strings.Builder
	for _, dir := range k.Overlays() {
		data, err := k.files.ReadFile("/" + dir + "/kustomization.yaml")
		must(t, err)
		all.Write(data)
	}
	components, err := filepath.Glob(filepath.Join(root, "kustomize/components/*"))
	if err != nil || len(components) == 0 {
		t.Fatalf("no components: %v", err)
	}
	for _, dir := range components {
		if name := filepath.Base(dir); name != "jaeger-v1" && !strings.Contains(all.String(), "/components/"+name+"\n") {
			t.Errorf("the component %s is not in any overlay or example", name)
		}
	}
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal reports the difference between two values. about precedes it, for example the name of a case.
func equal[T any](t testing.TB, want, got T, about ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprint(about...), diff)
	}
}
