package suiterunner_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/offline/suiterunner"
)

// suites returns a directory with a policy and the given suites.
func suites(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	const policy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example}]
pods: [{name: tags, mode: warn, images: {deniedTags: [latest]}}]
services: [{name: types, mode: enforce, types: {denied: [NodePort]}}]
`
	texts["policy.yaml"] = policy
	for name, text := range texts {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func run(t *testing.T, dir string, only *regexp.Regexp) *suiterunner.Report {
	t.Helper()
	files, err := suiterunner.Find([]string{dir})
	must(t, err)
	return suiterunner.Run(files, only)
}

const (
	pod     = "object: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: web, image: \"nginx:latest\"}]}}"
	service = "object: {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: NodePort}}"
)

// Each expectation fails if it is not met. The lines of the difference can be pasted into the suite.
func TestExpectations(t *testing.T) {
	for _, tt := range []struct{ name, object, holds, fails string }{
		{"allowed", pod, "allowed: true", "allowed: false"},
		{"denied", service, "denied: [types/types.denied]", "denied: []"},
		{"denied by more", service, "denied: [types/types.denied]", "denied: [types/types.denied, types/types.allowed]"},
		{"warned", pod, "warned: [tags/images.deniedTags]", "warned: []"},
		{"images", pod, "images: {containers/web: \"m.example/library/nginx:latest\"}", "images: {containers/web: \"nginx:latest\"}"},
		{"no such container", pod, "images: {}", "images: {containers/log: \"nginx:latest\"}"},
		{"message", service, "message: write another type", "message: write nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := func(expect string) string {
				return "policy: [policy.yaml]\ncases:\n- name: a\n  " + tt.object + "\n  " + expect + "\n"
			}
			if r := run(t, suites(t, map[string]string{"a_test.yaml": text(tt.holds)}), nil); !r.Passed {
				t.Errorf("%s fails: %+v", tt.holds, r)
			}
			dir := suites(t, map[string]string{"a_test.yaml": text(tt.fails)})
			r := run(t, dir, nil)
			if r.Passed || r.Summary.Failed != 1 || r.Suites[0].Cases[0].Diff == "" {
				t.Errorf("%s holds: %+v", tt.fails, r)
			}
			if tt.name == "message" { // a part of the sentences is expected, and the difference contains all of them
				return
			}
			decided := regexp.MustCompile(`(?m)^[ +]([^+].*)$`).FindAllStringSubmatch(r.Suites[0].Cases[0].Diff, -1)
			var fields strings.Builder
			for _, line := range decided {
				fields.WriteString("  " + line[1] + "\n")
			}
			pasted := strings.Replace(text(tt.fails), "  "+tt.fails+"\n", fields.String(), 1)
			if r = run(t, suites(t, map[string]string{"a_test.yaml": pasted}), nil); len(r.Errors) > 0 || !r.Passed {
				t.Errorf("it fails with the lines of the difference:\n%s\n%+v", pasted, r.Suites[0].Cases)
			}
		})
	}
}

// Suites of one policy share its coverage. A pattern leaves out cases.
func TestCoverage(t *testing.T) {
	dir := suites(t, map[string]string{
		"a_test.yaml": "policy: [policy.yaml]\ncases:\n- {name: of Pods, " + pod + ", allowed: true}\n",
		"b_test.yaml": "policy: [policy.yaml]\ncases:\n- {name: of Services, " + service + ", allowed: false}\n",
	})
	all := run(t, dir, nil)
	if !all.Covered() || len(all.Coverage) != 1 || all.Summary.Entries != 3 {
		t.Errorf("%+v", all.Coverage)
	}
	must(t, os.Remove(filepath.Join(dir, "b_test.yaml")))
	some := run(t, dir, nil)
	missing := some.Coverage[0].Missing
	if some.Covered() || len(missing) != 1 || missing[0].Name != "types" || missing[0].Line != 5 {
		t.Errorf("%+v", some)
	}
	if left := run(t, dir, regexp.MustCompile("Services")); left.Summary.Left != 1 || len(left.Coverage) != 0 {
		t.Errorf("%+v", left)
	}
}

// An object reaches a rule that applies to it, even without findings, and does not reach a rule that leaves it out.
func TestRulesAreReached(t *testing.T) {
	const policy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
services:
- {name: in-prod, mode: enforce, match: {namespaces: [prod]}, types: {denied: [LoadBalancer]}}
- {name: in-dev, mode: enforce, match: {namespaces: [dev]}, types: {denied: [LoadBalancer]}}
`
	dir := suites(t, map[string]string{
		"match.yaml":  policy,
		"a_test.yaml": "policy: [match.yaml]\ncases:\n- {name: a, namespace: prod, " + service + ", allowed: true}\n",
	})
	missing := run(t, dir, nil).Coverage[0].Missing
	if len(missing) != 1 || missing[0].Name != "in-dev" || missing[0].Block != "services" {
		t.Errorf("%+v", missing)
	}
}

// Invalid input is an error, and the other cases still run.
func TestErrors(t *testing.T) {
	dir := suites(t, map[string]string{
		"a_test.yaml":   "policy: [absent.yaml]\ncases:\n- {name: a, " + pod + "}\n",
		"b_test.yaml":   "policy: [policy.yaml]\ncase: []\n",
		"c_test.yaml":   "policy: [policy.yaml]\ncases:\n- {name: a, file: none.yaml}\n- {name: b, file: two.yaml}\n- {name: c, object: {apiVersion: v1, kind: Secret}}\n- {name: d, " + pod + ", set: edge}\n- {name: e, " + pod + ", old: {kind: Pod}}\n- {name: f, " + pod + ", allowed: true}\n- {name: g, object: {apiVersion: v1, kind: Pod, metadata: {annotations: {kubernetes.io/config.mirror: x}}}}\n- {name: h, " + pod + ", old: {apiVersion: v1, kind: Pod, metadata: {name: other}}}\n",
		"two.yaml":      "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: b}}\n",
		".h_test.yaml":  "hidden",
		"not-test.yaml": "no suite",
	})
	r := run(t, dir, nil)
	got := strings.ReplaceAll(strings.Join(r.Errors, "\n"), dir+string(filepath.Separator), "")
	want := `a_test.yaml: policy: there is no policy at "absent.yaml": pass a file, or a directory with *.yaml or *.yml files
b_test.yaml:1:1: cases is required
b_test.yaml:2:1: case: unknown field; did you mean cases?
c_test.yaml:3:3: a: none.yaml: no such file or directory
c_test.yaml:4:3: b: two.yaml contains more than one object: a case is about one object
c_test.yaml:5:3: c: objects of kind Secret are not validated: leave the case out
c_test.yaml:6:3: d: set: the policy has no rule in edge
c_test.yaml:7:3: e: old: c_test.yaml:7: Pod has no apiVersion: write it next to kind, for example apiVersion: v1
c_test.yaml:9:3: g: the Pod has the annotation of a mirror Pod, so the decision depends on the user: add user
c_test.yaml:10:3: h: old: this is another object: it has another kind, namespace or name`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var text output.Printer
	r.WriteText(&text)
	want = "9 cases: 1 passed, 0 failed, 8 not run; 1 suite not read; 2 of 3 entries reached (66 %)\n"
	if r.Passed || r.Summary.Passed != 1 || !strings.HasSuffix(text.String(), want) {
		t.Errorf("%+v\n%s", r.Summary, text.String())
	}
	if _, err := suiterunner.Find([]string{t.TempDir()}); err == nil ||
		!strings.HasSuffix(err.Error(), "no *_test.yaml in this directory") {
		t.Error(err)
	}
}

// The date of a case decides whether an exception has ended. Without a date, no exception has ended.
func TestAt(t *testing.T) {
	const policy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
services: [{name: types, mode: enforce, types: {denied: [NodePort]}}]
exceptions: [{name: for-now, rules: [types], match: {namespaces: [shop]}, until: 2020-01-31, reason: T-1}]
`
	dir := suites(t, map[string]string{
		"until.yaml": policy,
		"a_test.yaml": "policy: [until.yaml]\ncases:\n- {name: a, namespace: shop, " + service + ", allowed: true}\n" +
			"- {name: b, namespace: shop, " + service + ", at: 2020-02-01, allowed: false}\n",
	})
	if r := run(t, dir, nil); !r.Passed || !r.Covered() {
		t.Errorf("%+v", r)
	}
}

// A case that expects a rule or a check that does not exist is a mistake, and the nearest name is suggested.
func TestUnknownNames(t *testing.T) {
	for expect, want := range map[string]string{
		"denied: [typs/types.denied]":   "denied: typs/types.denied: the policy has no active rule typs; did you mean types?",
		"denied: [unheard/of]":          "denied: unheard/of: the policy has no active rule unheard",
		"warned: [types/types.deny]":    "warned: types/types.deny: no rule has a check types.deny; did you mean types.denied?",
		"warned: [hub/mirrrs]":          "warned: hub/mirrrs: no rule has a check mirrrs; did you mean mirrors?",
		"denied: [types/unheard.of.it]": "denied: types/unheard.of.it: no rule has a check unheard.of.it",
	} {
		text := "policy: [policy.yaml]\ncases:\n- name: a\n  " + service + "\n  " + expect + "\n"
		dir := suites(t, map[string]string{"a_test.yaml": text})
		r := run(t, dir, nil)
		if diff := cmp.Diff([]string{filepath.Join(dir, "a_test.yaml") + ":3:3: a: " + want}, r.Errors); diff != "" {
			t.Errorf("%s (-want +got)\n%s", expect, diff)
		}
	}
}

// A pull request can contain a suite that refers to any file of a CI runner. Only files near the suite are read, and no
// error quotes a file that is not a policy.
func TestFilesOutside(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "repo", "suites")
	must(t, os.MkdirAll(filepath.Join(dir, "policies"), 0o755))
	const policy = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nservices: [{name: types, mode: enforce, types: {denied: [NodePort]}}]\n"
	for name, content := range map[string]string{
		"token": "s3cret", "repo/token": "s3cret", "repo/policy.yaml": policy, "repo/suites/policies/a.yaml": policy,
	} {
		must(t, os.WriteFile(filepath.Join(top, filepath.FromSlash(name)), []byte(content), 0o600))
	}
	for link, target := range map[string]string{
		"link.yaml": "../../token", "policies/link.yaml": "../../../token", "up": "../..", "inside.yaml": "../policy.yaml",
	} {
		if err := os.Symlink(filepath.FromSlash(target), filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	const (
		outside = "the file is outside "
		link    = "a symbolic link that is absolute or leads out of the directory"
		object  = ", object: {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: NodePort}}, allowed: false}"
	)
	run := func(t *testing.T, suite string) string {
		t.Helper()
		file := filepath.Join(dir, "a_test.yaml")
		must(t, os.WriteFile(file, []byte(suite), 0o600))
		return strings.Join(run(t, file, nil).Errors, "\n")
	}
	of := func(policy string) string { return "policy: [" + policy + "]\ncases: [{name: a" + object + "]\n" }
	ofFile := func(file string) string {
		return "policy: [policies/a.yaml]\ncases: [{name: a, file: " + file + "}]\n"
	}
	ofOld := func(file string) string {
		return "policy: [policies/a.yaml]\ncases: [{name: a, old: " + file + object + "]\n"
	}
	for _, name := range []string{"../policy.yaml", filepath.Join(top, "repo", "policy.yaml")} {
		if got := run(t, of(name)); got != "" {
			t.Errorf("without a worktree: %s: %s", name, got)
		}
	}
	if got := run(t, of("../../token")); !strings.HasSuffix(got, "token:1:1: want a mapping, got a single value") {
		t.Errorf("a file that is not a policy: %s", got)
	}
	if got := run(t, of(strings.Repeat("none/", 10_000))); !strings.Contains(got, "there is no policy at") || len(got) > 5000 {
		t.Errorf("an error of %d bytes: %.100s", len(got), got)
	}
	for _, name := range []string{"link.yaml", "inside.yaml", "policies", "up"} {
		if got := run(t, of(name)); !strings.Contains(got, link) {
			t.Errorf("without a worktree: %s: %s", name, got)
		}
	}
	must(t, os.Mkdir(filepath.Join(top, "repo", ".git"), 0o755))
	for _, tt := range []struct{ name, suite, want string }{
		{"a policy", of("../../token"), outside},
		{"an absolute policy", of(filepath.Join(top, "token")), outside},
		{"a link as policy", of("link.yaml"), link},
		{"a link in a directory", of("policies"), link},
		{"a linked directory", of("up"), link},
		{"an object", ofFile("../../token"), outside},
		{"a link as object", ofFile("link.yaml"), link},
		{"an old object", ofOld("../../token"), outside},
		{"no policy", of("none.yaml"), "there is no policy at "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, tt.suite); !strings.Contains(got, tt.want) || strings.Contains(got, "s3cret") {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}

	up := filepath.Join(dir, "up")
	if _, err := suiterunner.Find([]string{dir}); err == nil || err.Error() != up+": "+link {
		t.Errorf("a linked directory, which may contain suites: %v", err)
	}
	must(t, os.Remove(up))
	found, err := suiterunner.Find([]string{filepath.Join(top, "repo")})
	must(t, err)
	run(t, of("../policy.yaml"))
	if r := suiterunner.Run(found, nil); len(r.Errors) > 0 {
		t.Errorf("in the directory that is searched: %v", r.Errors)
	}
	for _, name := range []string{"../policy.yaml", "inside.yaml", filepath.Join(top, "repo", "policy.yaml")} {
		if got := run(t, of(name)); got != "" {
			t.Errorf("in the worktree: %s: %s", name, got)
		}
	}
	if got := run(t, of("../token")); !strings.HasSuffix(got, "token:1:1: want a mapping, got a single value") {
		t.Errorf("an error quotes a file that is not a policy: %s", got)
	}
	if got := run(t, of("../../token")); !strings.Contains(got, outside) {
		t.Errorf("outside the worktree: %s", got)
	}
}

func TestFilesInTheWorkingDirectory(t *testing.T) {
	dir := suites(t, map[string]string{})
	tests := filepath.Join(dir, "tests")
	must(t, os.Mkdir(tests, 0o755))
	suite := "policy: [../policy.yaml]\ncases: [{name: a, " + pod + ", allowed: true}]\n"
	must(t, os.WriteFile(filepath.Join(tests, "a_test.yaml"), []byte(suite), 0o600))
	t.Chdir(dir)
	if r := run(t, "tests", nil); !r.Passed || len(r.Errors) > 0 {
		t.Errorf("%+v", r.Errors)
	}
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A case can contain the other objects with which the unique block compares its object. A duplicate in mode enforce
// fails a case that does not expect it.
func TestDuplicates(t *testing.T) {
	ingress := func(namespace string) string {
		return "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, namespace: " + namespace +
			"}, spec: {rules: [{host: a.example}]}}"
	}
	const entry = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nunique: [{name: hosts, mode: MODE, what: hosts}]"
	for _, tt := range []struct {
		mode, expect, other string
		passed              bool
	}{
		{"enforce", "warned: [hosts/unique]", ingress("b"), true},
		{"enforce", "warned: []", ingress("b"), false},
		{"enforce", "allowed: true", ingress("b"), false},
		{"enforce", "allowed: true", ingress("a"), true}, // the same object
		{"enforce", "message: Ingress b/a", ingress("b"), false},
		{"warn", "warned: [hosts/unique]", ingress("b"), true},
		{"warn", "allowed: true", ingress("b"), true},
		{"warn", "warned: [hosts/uniq]", ingress("b"), false},
		{"warn", "allowed: true", "a.yaml", false},
	} {
		r := run(t, suites(t, map[string]string{
			"unique.yaml": strings.Replace(entry, "MODE", tt.mode, 1),
			"a_test.yaml": "policy: [unique.yaml]\ncases:\n- name: a\n  object: " + ingress("a") + "\n  others: [" + tt.other +
				"]\n  " + tt.expect + "\n",
		}), nil)
		if r.Passed != tt.passed {
			t.Errorf("%+v: %+v", tt, r)
		}
	}
}
