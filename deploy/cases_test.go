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
	o := Options{Now: now}
	if tt.DryRun == nil {
		return o
	}
	run := DryRun{Deployment: "evergate", Rejected: tt.DryRun.Rejected, AsController: !tt.DryRun.AsUser}
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
	o.DryRuns = []DryRun{run}
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

// inventory reads the objects as evergate preflight does.
func (m manifests) inventory(t *testing.T) *Inventory {
	t.Helper()
	inv, err := Read(offline.Read([]string{offline.Stdin}, bytes.NewReader(encode(t, map[string]any{
		"apiVersion": "v1", "kind": "List", "items": m,
	}))))
	if err != nil {
		t.Fatal(err)
	}
	return inv
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
	for _, c := range checks() {
		t.Run(c.id, func(t *testing.T) {
			cases := documents[testCase](t, c.id+".bad.yaml")
			for _, tt := range cases {
				t.Run(tt.Case, func(t *testing.T) { checkCase(t, f.load(t, tt), tt, &c) })
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

// checkCase checks that m has the findings of a case, all with the id of the check c. c is nil for a case without
// findings.
func checkCase(t *testing.T, m manifests, tt testCase, c *check) {
	t.Helper()
	inv := m.inventory(t)
	o := tt.options(t, m)
	report, err := Check(inv, o)
	if err != nil {
		t.Fatal(err)
	}
	checkPremises(t, inv, o, report)
	var got []string
	for _, f := range report.Findings {
		if f.ID == "coverage" && f.Severity == Info && (c == nil || c.id != f.ID) {
			continue // in every live cluster
		}
		got = append(got, fmt.Sprintf("%s %s: %s", f.Severity, f.Object, f.Message))
		if c == nil || f.ID != c.id {
			t.Errorf("it triggers %s", f.ID)
			continue
		}
		if f.Severity.rank() < c.severity.rank() {
			t.Errorf("the check is documented as %s and reports an %s", c.severity, f.Severity)
		}
	}
	if diff := cmp.Diff(tt.Find, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if c != nil && len(tt.Find) == 0 {
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
		report, err := Check(cases.load(t, testCase{Change: tt.changes}).inventory(t), Options{Now: now})
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

// checkPremises checks that if a premise does not hold, its check reports the cause.
func checkPremises(t *testing.T, inv *Inventory, o Options, report *Report) {
	t.Helper()
	c, err := newCluster(inv, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range checks() {
		for _, p := range check.needs {
			if !p.holds(c) && !reportsCause(c, report, p.by) {
				t.Errorf("%s is not run for a reason that %s does not report", check.id, p.by)
			}
		}
	}
}

// reportsCause reports whether a check has found an error, or a check that it depends on has.
func reportsCause(c *cluster, report *Report, id string) bool {
	if slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.ID == id && f.Severity == Error }) {
		return true
	}
	all := checks()
	i := slices.IndexFunc(all, func(check check) bool { return check.id == id })
	return slices.ContainsFunc(all[i].needs, func(p premise) bool { return !p.holds(c) && reportsCause(c, report, p.by) })
}

// TestEverySeverity checks that one of the cases of a check has its severity in docs/preflight.md.
func TestEverySeverity(t *testing.T) {
	for _, c := range checks() {
		worst := slices.ContainsFunc(documents[testCase](t, c.id+".bad.yaml"), func(tt testCase) bool {
			return slices.ContainsFunc(tt.Find, func(s string) bool { return strings.HasPrefix(s, string(c.severity)+" ") })
		})
		if !worst {
			t.Errorf("%s: no case reports an %s", c.id, c.severity)
		}
	}
}

// TestFiles checks that each check has a separate file, check_ID.go, and bad manifests, testdata/ID.bad.yaml, and that
// each such file belongs to a check.
func TestFiles(t *testing.T) {
	var sources, cases []string
	for _, c := range checks() {
		sources = append(sources, "check_"+strings.ReplaceAll(c.id, "-", "_")+".go")
		cases = append(cases, "testdata/"+c.id+".bad.yaml")
	}
	for pattern, want := range map[string][]string{"check_*.go": sources, "testdata/*.bad.yaml": cases} {
		got, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files of the checks (-want +got)\n%s", diff)
		}
	}
	for _, c := range checks() {
		source := "check_" + strings.ReplaceAll(c.id, "-", "_") + ".go"
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\treturn check{"); n != 1 {
			t.Errorf("%s contains %d checks", source, n)
		}
		if !strings.Contains(string(text), "id: \""+c.id+"\"") {
			t.Errorf("%s does not contain the check %s", source, c.id)
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
