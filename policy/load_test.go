package policy

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// Each testdata/load/*.bad.yaml and testdata/mirrors/invalid/*.yaml is a policy that does not load. Its errors are in
// the file, one per line after "# want: ", usually at the end, so that they do not change line numbers. To add a case,
// add a file.
func TestLoadErrors(t *testing.T) {
	for _, path := range append(testdata(t, "load/*.bad.yaml"), testdata(t, "mirrors/invalid/*.yaml")...) {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			data := readFile(t, path)
			if !strings.HasSuffix(path, ".bad.yaml") {
				name = "policy.yaml" // as docs/denials.md shows it
			}
			_, err := Load(File{Name: name, Data: data})
			if err == nil {
				t.Fatal("no error")
			}
			equal(t, marked(data, wantMark), strings.Split(err.Error(), "\n"))
		})
	}
}

// Files are merged in the order of their names, whatever their order in the call and their directories. A ConfigMap
// does not have directories.
func TestLoadMergesInNameOrder(t *testing.T) {
	a := policyFile("z/a.yaml", "services:\n- {name: first, mode: enforce, types: {allowed: []}}\n")
	b := policyFile("b.yaml", "services:\n- {name: second, mode: enforce, types: {allowed: []}}\n"+
		"---\napiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nservices:\n- {name: third, mode: warn, types: {allowed: []}}\n")
	var hash string
	for _, files := range [][]File{{a, b}, {b, a}} {
		given := slices.Clone(files)
		p := must(Load(files...))
		var got []string
		for _, f := range must(Services.Evaluate(p, object.Attributes{Operation: object.Create}, &object.Service{}, nil, nil)) {
			got = append(got, f.Rule)
		}
		equal(t, []string{"first", "second", "third"}, got)
		if hash != "" && p.Hash() != hash {
			t.Errorf("the hash depends on the order: %s, %s", hash, p.Hash())
		}
		hash = p.Hash()
		equal(t, given, files, "the caller's files were sorted")
	}
}

// The hash is the hash of the content, which users compare, and does not depend on file names. It never changes for the
// same content.
func TestHash(t *testing.T) {
	one := policyFile("a.yaml", "services: []\n")
	hash := func(files ...File) string {
		p := must(Load(files...))
		return p.Hash()
	}
	if got, want := hash(one), "172218653ce0"; got != want {
		t.Errorf("the hash of a policy that never changed is now %s, was %s", got, want)
	}
	comment := File{Name: one.Name, Data: append([]byte("# hi\n"), one.Data...)}
	half := len(one.Data) / 2
	if hash(File{Name: "b.yaml", Data: one.Data}) != hash(one) || hash(File{Name: "b.yaml", Data: one.Data}, comment) != hash(comment, one) {
		t.Error("names of files change the hash")
	}
	others := []string{hash(), hash(comment), hash(one, File{Name: "b.yaml", Data: nil}),
		hash(File{Name: "a.yaml", Data: nil}), hash(File{Name: "a.yaml", Data: []byte(strings.Repeat("#", half))}, File{Name: "b.yaml", Data: nil})}
	slices.Sort(others)
	if distinct := slices.Compact(slices.Clone(others)); len(distinct) != len(others) || slices.Contains(others, hash(one)) {
		t.Errorf("different texts share a hash: %v", others)
	}
}

// A policy counts as emptied if no document has an entry, including entries in mode off, or allowEmpty.
func TestEmptied(t *testing.T) {
	for text, want := range map[string]int{
		"allowEmpty: true\n": 0,
		"services: [{name: a, mode: off, types: {denied: [NodePort]}}]\n": 1,
	} {
		p, err := Load(policyFile("a", text), policyFile("b", ""))
		if err != nil || p.Emptied() || p.Entries() != want || p.Counts() != (Counts{}) {
			t.Errorf("%s: %v, %+v", text, err, p)
		}
	}
}

// Files without content are the empty policy.
func TestLoadEmpty(t *testing.T) {
	for name, files := range map[string][]File{
		"no file":        nil,
		"empty file":     {{Name: "a.yaml"}},
		"comments only":  {{Name: "a.yaml", Data: []byte("# nothing yet\n")}},
		"empty document": {{Name: "a.yaml", Data: []byte("---\n---\n# here neither\n")}},
		"no entries":     {policyFile("a.yaml", "services: []\ningresses: []\npods: []\nmirrors: []\n")},
	} {
		t.Run(name, func(t *testing.T) {
			p := must(Load(files...))
			if p.Counts() != (Counts{}) || !p.Emptied() {
				t.Errorf("%+v, emptied: %t", p.Counts(), p.Emptied())
			}
			if fs := must(Services.Evaluate(p, object.Attributes{Operation: object.Create}, &object.Service{Type: "NodePort"}, nil, nil)); len(fs) != 0 {
				t.Errorf("an empty policy denies nothing, but %v", fs)
			}
			if len(p.Hash()) != 12 {
				t.Errorf("hash %q", p.Hash())
			}
		})
	}
}

// Mistakes in all files are reported together, each with its file.
func TestLoadReportsAllMistakes(t *testing.T) {
	_, err := Load(
		policyFile("b.yaml", "servcies: []\n"),
		policyFile("a.yaml", "services:\n- {name: x, mode: enforced, types: {allowed: []}}\n"),
		File{Name: "c.yaml", Data: []byte("a: [")},
	)
	want := `a.yaml:4:19: services[0].mode: "enforced" is not a mode: write off, audit, warn or enforce
b.yaml:3:1: servcies: unknown field; did you mean services?
c.yaml:1: not valid YAML: did not find expected node content`
	equal(t, want, err.Error())
	var errs strict.Errors
	if !errors.As(err, &errs) || len(errs) != 3 {
		t.Errorf("want a list of three, got %T", err)
	}
}

// Names are unique across all files and kinds, because a finding only contains the name.
func TestLoadDuplicateNames(t *testing.T) {
	entry := "services:\n- {name: same, mode: enforce, types: {allowed: []}}\n"
	_, err := Load(policyFile("b", entry), policyFile("a", entry))
	want := `b:4:3: services[0]: the name "same" is taken by a:4:3: names must be unique in the whole policy`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	at := func(line int) rule.Header {
		return rule.Header{Name: "same", Pos: strict.Pos{File: "a", Line: line, Column: 3}}
	}
	all := document{blocks: blocks{
		Mirrors:   []mirror.Entry{{Header: at(1)}},
		Pods:      []images.PodsEntry{{RuleHeader: rule.RuleHeader{Header: at(2)}}},
		Ingresses: []ingressesEntry{{RuleHeader: rule.RuleHeader{Header: at(3)}}},
		Services:  []servicesEntry{{RuleHeader: rule.RuleHeader{Header: at(4)}}},
	}}
	var lines []int
	var errs strict.Collector
	all.places(&errs)
	for _, e := range errs.Errors() {
		lines = append(lines, e.Line)
	}
	equal(t, []int{2, 3, 4}, lines, "every kind shares the names")
}

// Each kind has a separate strictest mode, and entries in mode off do not count.
func TestStrictest(t *testing.T) {
	for _, tt := range []struct {
		name, policy string
		want         Modes
	}{
		{name: "empty"},
		{
			name: "of each kind",
			policy: `
mirrors:
- {name: a, mode: off, sources: [docker.io], mirror: mirror.example/hub}
- {name: b, mode: warn, sources: [ghcr.io], mirror: mirror.example/ghcr}
- {name: c, mode: audit, sources: [quay.io], mirror: mirror.example/quay}
pods:
- {name: d, mode: audit, images: {deniedTags: [latest]}}
ingresses:
- {name: e, mode: off, hosts: {required: true}}
services:
- {name: f, mode: warn, types: {allowed: []}}
- {name: g, mode: enforce, types: {allowed: []}}
- {name: h, mode: audit, types: {allowed: []}}
`,
			want: Modes{Mirrors: Warn, Pods: Audit, Workloads: Audit, Ingresses: Off, Services: Enforce},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, tt.want, mustLoad(t, tt.policy).Strictest(), "modes")
		})
	}
}

// Each block of a policy file is counted, and its names are unique in all blocks.
func TestEveryBlockIsCounted(t *testing.T) {
	var b blocks
	v := reflect.ValueOf(&b).Elem()
	var names []string
	for i := range v.NumField() {
		v.Field(i).Set(reflect.MakeSlice(v.Field(i).Type(), 1, 1))
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		names = append(names, name)
	}
	entries := 0
	for range b.headers {
		entries++
	}
	if entries != len(names) {
		t.Errorf("headers yields %d entries of %d blocks", entries, len(names))
	}
	if diff := cmp.Diff(names, b.names()); diff != "" {
		t.Errorf("names (-blocks +named):\n%s", diff)
	}
	added := map[string]int{}
	var copied blocks
	b.addTo(func(set string) *blocks { added[set]++; return &copied })
	if added[""] != len(names) || !reflect.DeepEqual(b, copied) {
		t.Errorf("addTo adds %d entries of %d blocks", added[""], len(names))
	}
	var counted []string
	for name := range (Counts{}).All() {
		counted = append(counted, name)
	}
	if diff := cmp.Diff(names, counted); diff != "" {
		t.Errorf("Counts.All (-blocks +counted):\n%s", diff)
	}
	if b.counts() != (Counts{}) {
		t.Errorf("entries that are off are counted: %+v", b.counts())
	}
	for h := range b.headers {
		h.Mode = Audit
	}
	for name, n := range b.counts().All() {
		if n != 1 {
			t.Errorf("%d entries of %s are counted", n, name)
		}
	}
	if n := reflect.TypeFor[Counts]().NumField(); n != len(names) {
		t.Errorf("Counts has %d fields for %d blocks", n, len(names))
	}
}

// A policy in UTF-16 is rejected, with a byte order mark and without one.
func TestLoadUTF16(t *testing.T) {
	var data []byte
	for _, c := range []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n") {
		data = append(data, c, 0)
	}
	for _, mark := range []string{"", "\xff\xfe"} {
		_, err := Load(File{Name: "p", Data: append([]byte(mark), data...)})
		if want := "p:1:1: the input is UTF-16: save it as UTF-8"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// If a file is a template, its first error mentions this.
func TestLoadTemplates(t *testing.T) {
	const hint = "; the file contains {{, like a template: render it first, for example with helm template"
	for text, want := range map[string]string{
		"mirrors:\n- {name: hub, mode: {{ .Values.mode }}, sources: [docker.io], mirror: m.example}\n": "p:4:21: " +
			"mirrors[0].mode: want a string, got a mapping" + hint,
		"{{- if .Values.mirrors }}\nmirrors: []\n{{- end }}\n": "p:3: not valid YAML: could not find expected ':'" + hint,
		"# {{ .Values.mode }}\nallowEmpty: 5\n":                "p:4:13: allowEmpty: want true or false, got 5",
	} {
		_, err := Load(policyFile("p", text))
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A number that does not fit is an error, and not another number.
func TestWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"1": "", "9223372036854775807": "",
		"9223372036854775808":  "want a whole number, got 9223372036854775808",
		"18446744073709551617": "want a whole number",
		"0x10":                 "want a whole number, got 0x10",
		"0":                    "0 is too few",
	} {
		_, err := Load(policyFile("p", "ingresses: [{name: r, mode: enforce, hosts: {max: "+text+"}}]"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "hosts.max: "+want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
