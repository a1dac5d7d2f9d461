package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// now is the time in all tests.
var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// testCase is one document of testdata/<id>.bad.yaml, which has only findings with this id, or of testdata/*.good.yaml,
// which does not have any findings.
type testCase struct {
	Case   string   `json:"case"`
	Live   bool     `json:"live"`   // change live.yaml instead of base.yaml
	Change []change `json:"change"` // in this order
	DryRun *answer  `json:"dryRun"` // for a Pod of the Deployment evergate; nil without a dry run
	Find   []string `json:"find"`   // SEVERITY OBJECT: MESSAGE

	Answers map[string]Answer `json:"answers"` // of webhooks
}

// answer is the answer of an API server to a dry run: the reason for a rejection, or a patch that turns the Pod
// template into the Pod that the API server would create.
type answer struct {
	Rejected string           `json:"rejected"`
	AsUser   bool             `json:"asUser"` // as a user and not as the account of the ReplicaSet controller
	Patch    []map[string]any `json:"patch"`
}

// options returns the options of the checks of a case.
func (tt testCase) options(t *testing.T, m manifests) Options {
	t.Helper()
	o := Options{Now: now, Answers: tt.Answers}
	if tt.DryRun == nil {
		return o
	}
	run := DryRun{Rejected: tt.DryRun.Rejected, AsController: !tt.DryRun.AsUser}
	if run.Rejected == "" {
		deployment := m[m.index(t, "Deployment/evergate")]
		template := deployment["spec"].(map[string]any)["template"]
		patch, err := jsonpatch.DecodePatch(encode(t, tt.DryRun.Patch))
		if err != nil {
			t.Fatal(err)
		}
		patched, err := patch.Apply(encode(t, template))
		if err != nil {
			t.Fatal(err)
		}
		run.Pod = &corev1.Pod{}
		decode(t, patched, run.Pod)
	}
	o.DryRuns = map[string]DryRun{"evergate": run}
	return o
}

// change adds an object or the export of the policy, patches an object (RFC 6902), adds a patched copy of an object, or
// removes an object.
type change struct {
	Add    map[string]any   `json:"add"`
	To     string           `json:"to"`   // Kind/name
	Copy   string           `json:"copy"` // Kind/name
	Patch  []map[string]any `json:"patch"`
	Remove string           `json:"remove"` // Kind/name

	Policy      string          `json:"policy"`     // the entries of the policy in the ConfigMap
	NativeOnly  bool            `json:"nativeOnly"` // removes everything that serves
	Export      []export.Target `json:"export"`
	Unrewritten bool            `json:"unrewritten"` // export --deny-unrewritten
}

// manifests are the objects of a case.
type manifests []map[string]any

func (m manifests) index(t *testing.T, name string) int {
	t.Helper()
	i := slices.IndexFunc(m, func(o map[string]any) bool {
		return fmt.Sprintf("%s/%s", o["kind"], o["metadata"].(map[string]any)["name"]) == name
	})
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return i
}

func (m manifests) apply(t *testing.T, changes []change) manifests {
	t.Helper()
	for _, c := range changes {
		switch {
		case c.Add != nil:
			m = append(m, c.Add)
		case c.Export != nil:
			m = append(m, m.exported(t, c)...)
		case c.Policy != "":
			m[m.index(t, "ConfigMap/evergate-policy")]["data"] = map[string]any{
				"policy.yaml": "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + c.Policy,
			}
		case c.NativeOnly:
			for _, name := range []string{
				"MutatingWebhookConfiguration/evergate", "ValidatingWebhookConfiguration/evergate", "Deployment/evergate",
				"Service/evergate", "PodDisruptionBudget/evergate",
			} {
				i := m.index(t, name)
				m = slices.Delete(m, i, i+1)
			}
		case c.Remove != "":
			i := m.index(t, c.Remove)
			m = slices.Delete(m, i, i+1)
		default:
			i := m.index(t, c.To+c.Copy)
			patch, err := jsonpatch.DecodePatch(encode(t, c.Patch))
			if err != nil {
				t.Fatal(err)
			}
			patched, err := patch.Apply(encode(t, m[i]))
			if err != nil {
				t.Fatalf("%s: %v", c.To+c.Copy, err)
			}
			if c.Copy != "" {
				i, m = len(m), append(m, nil)
			}
			m[i] = nil
			decode(t, patched, &m[i])
		}
	}
	return m
}

// exported returns the objects that evergate export writes for the policy.
func (m manifests) exported(t *testing.T, c change) manifests {
	t.Helper()
	data := m[m.index(t, "ConfigMap/evergate-policy")]["data"].(map[string]any)["policy.yaml"].(string)
	file := policy.File{Name: "policy.yaml", Data: []byte(data)}
	p, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := policy.Describe(file)
	if err != nil {
		t.Fatal(err)
	}
	result := export.Export(doc, export.Options{
		Targets: c.Export, Exempt: export.ExemptNamespaces(), Hash: p.Hash(), DenyUnrewritten: c.Unrewritten,
	})
	var all manifests
	for _, o := range result.Objects {
		var object map[string]any
		decode(t, encode(t, o.Object), &object)
		all = append(all, object)
	}
	return all
}

// read reads the objects as evergate preflight does.
func (m manifests) read(t *testing.T) *install.Objects {
	t.Helper()
	objects, err := install.Read(offline.Read([]string{offline.Stdin}, bytes.NewReader(encode(t, map[string]any{
		"apiVersion": "v1", "kind": "List", "items": m,
	}))))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// fixture has the objects that cases change. It is decoded once for all cases.
type fixture struct {
	base manifests // base.yaml
	live []change  // live.yaml: the differences in a live cluster
}

func readFixture(t *testing.T) fixture {
	t.Helper()
	return fixture{documents[map[string]any](t, "base.yaml"), documents[testCase](t, "live.yaml")[0].Change}
}

// load returns the objects of a case.
func (f fixture) load(t *testing.T, tt testCase) manifests {
	t.Helper()
	var m manifests
	for _, o := range f.base {
		m = append(m, runtime.DeepCopyJSON(o))
	}
	if !tt.Live {
		return m.apply(t, tt.Change)
	}
	m = m.apply(t, f.live).apply(t, tt.Change)
	for _, o := range m {
		o["metadata"].(map[string]any)["uid"] = "from a cluster"
	}
	return m
}

func TestBadManifests(t *testing.T) {
	f := readFixture(t)
	for _, k := range kinds() {
		t.Run(k.ID, func(t *testing.T) {
			for _, tt := range documents[testCase](t, k.ID+".bad.yaml") {
				t.Run(tt.Case, func(t *testing.T) { checkCase(t, f.load(t, tt), tt, &k) })
			}
		})
	}
}

func TestGoodManifests(t *testing.T) {
	files, err := filepath.Glob("testdata/*.good.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no good manifests", err)
	}
	f := readFixture(t)
	for _, file := range files {
		for _, tt := range documents[testCase](t, filepath.Base(file)) {
			t.Run(tt.Case, func(t *testing.T) { checkCase(t, f.load(t, tt), tt, nil) })
		}
	}
}

// checkCase checks that m has the findings of a case, all of the kind k. k is nil for a case without findings.
func checkCase(t *testing.T, m manifests, tt testCase, k *kind) {
	t.Helper()
	report, err := Check(m.read(t), tt.options(t, m))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range report.Findings {
		if f.ID == "coverage" && f.Severity == Info && (k == nil || k.ID != f.ID) {
			continue // in every live cluster
		}
		got = append(got, fmt.Sprintf("%s %s: %s", f.Severity, f.Object, f.Message))
		if k == nil || f.ID != k.ID {
			t.Errorf("it triggers %s", f.ID)
			continue
		}
		if f.Severity.rank() < k.Severity.rank() {
			t.Errorf("the finding is documented as %s and reported as an %s", k.Severity, f.Severity)
		}
	}
	if diff := cmp.Diff(tt.Find, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if k != nil && len(tt.Find) == 0 {
		t.Error("a bad manifest has findings")
	}
}

// TestOnePolicyOfTwoDeployments checks that a policy that two Deployments mount is loaded once. Otherwise it would
// contain each entry twice, which is an error, and each of its errors would be two findings.
func TestOnePolicyOfTwoDeployments(t *testing.T) {
	second := change{Copy: "Deployment/evergate", Patch: []map[string]any{
		{"op": "replace", "path": "/metadata/name", "value": "second"},
	}}
	wrong := change{To: "ConfigMap/evergate-policy", Patch: []map[string]any{
		{"op": "replace", "path": "/data/policy.yaml", "value": "kind: EvergatePolicy"},
	}}
	cases := readFixture(t)
	for _, tt := range []struct {
		changes []change
		want    int
	}{{[]change{second}, 0}, {[]change{second, wrong}, 1}} {
		report, err := Check(cases.load(t, testCase{Change: tt.changes}).read(t), Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, f := range report.Findings {
			if f.ID == "policy" {
				got++
			}
		}
		if got != tt.want {
			t.Errorf("%d findings of the policy, want %d: %v", got, tt.want, report.Findings)
		}
	}
}

// TestEverySeverity checks that one of the cases of a finding has its severity in docs/preflight.md.
func TestEverySeverity(t *testing.T) {
	for _, k := range kinds() {
		worst := slices.ContainsFunc(documents[testCase](t, k.ID+".bad.yaml"), func(tt testCase) bool {
			return slices.ContainsFunc(tt.Find, func(s string) bool { return strings.HasPrefix(s, string(k.Severity)+" ") })
		})
		if !worst {
			t.Errorf("%s: no case reports an %s", k.ID, k.Severity)
		}
	}
}

// TestFrozen checks the number of findings: a new one has to replace an old one. It also checks that each has bad
// manifests, and that the code reports no other IDs.
func TestFrozen(t *testing.T) {
	const most = 63
	var ids, want []string
	for _, k := range kinds() {
		ids, want = append(ids, k.ID), append(want, "testdata/"+k.ID+".bad.yaml")
	}
	if len(ids) > most {
		t.Errorf("there are %d findings, and at most %d: replace an old one", len(ids), most)
	}
	got, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bad manifests (-want +got)\n%s", diff)
	}
	for _, k := range kinds() {
		for _, cause := range k.After {
			if !slices.Contains(ids, cause) || cause == k.ID {
				t.Errorf("%s is after %s, which is not another finding", k.ID, cause)
			}
		}
	}
}

// documents reads the documents of a file in testdata. Names like ${ca} become certificates in base64.
func documents[T any](t *testing.T, name string) []T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	dec := yamlv3.NewDecoder(strings.NewReader(testCertificates().Replace(string(text))))
	var docs []T
	for {
		var node any // resolves anchors and merges
		if err := dec.Decode(&node); errors.Is(err, io.EOF) {
			return docs
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		strict := json.NewDecoder(bytes.NewReader(encode(t, node)))
		strict.DisallowUnknownFields()
		var doc T
		if err := strict.Decode(&doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		docs = append(docs, doc)
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// TestNothing checks that input without Evergate is an error.
func TestNothing(t *testing.T) {
	m := manifests(documents[map[string]any](t, "base.yaml"))
	m = m.apply(t, []change{{Remove: "MutatingWebhookConfiguration/evergate"},
		{Remove: "ValidatingWebhookConfiguration/evergate"}, {Remove: "Deployment/evergate"}})
	report, err := Check(m.read(t), Options{Now: now})
	want := "the input does not contain Evergate: no webhook configuration has the label " +
		"app.kubernetes.io/name=evergate, and no webhook is called *.evergate.dev"
	if report != nil || err == nil || err.Error() != want {
		t.Errorf("%v, %v", report, err)
	}
}

// TestSparse checks that no check fails if any object is missing from the input.
func TestSparse(t *testing.T) {
	all := manifests(documents[map[string]any](t, "base.yaml"))
	for i := range all {
		var with, without manifests // the webhooks and object i; all except object i
		for j, o := range all {
			if i == j || strings.HasSuffix(o["kind"].(string), "WebhookConfiguration") {
				with = append(with, o)
			}
			if i != j {
				without = append(without, o)
			}
		}
		for _, m := range []manifests{with, without} {
			if _, err := Check(m.read(t), Options{Now: now}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
