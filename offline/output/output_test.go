package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// sample contains every level, two equal results, and texts that each format must escape.
func sample() *findings {
	return &findings{Options{Command: "review", Version: "v1.2.3", Dir: "/repo"}, []Case{
		{
			Suite: "/repo/deploy/a b.yaml", Name: "Ingress team-a/web", Place: Place{"/repo/deploy/a b.yaml", 3, 1},
			Results: []Result{
				{Level: Note, Rule: "old/hosts", Subject: "Ingress team-a/web: spec.rules", Message: "seen"},
				{
					Level: Error, Rule: "web/hosts.allowed", Subject: "Ingress team-a/web: spec.rules", Help: "Which hosts.",
					Message: "50% <b>\"x\"</b>\nsecond: line, here", Place: Place{"/repo/deploy/a b.yaml", 9, 13},
				},
				{
					Level: Error, Rule: "web/hosts.allowed", Subject: "Ingress team-a/web: spec.rules",
					Message: "another", Place: Place{"/repo/deploy/a b.yaml", 10, 13},
				},
			},
		},
		{Suite: "b:c.yaml", Name: "Pod a", Place: Place{"b:c.yaml", 1, 0}, Results: []Result{
			{Level: Warning, Rule: "hub", Message: "control \x01 and \xff"},
		}},
		{Suite: "b:c.yaml", Name: "Pod a"},
		{Suite: "stdin", Name: "input", Results: []Result{{Level: Invalid, Rule: "input", Message: "not YAML"}}},
	}}
}

// WriteText and Cases implement CaseReport.
func (*findings) WriteText(p *Printer) { p.Line("text") }
func (r *findings) Cases() []Case      { return r.cases }

func write(t *testing.T, f Format, r *findings) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, r, r.Options); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGitHub(t *testing.T) {
	want := `::error title=input::not YAML
::error file=deploy/a b.yaml,line=9,col=13,title=Ingress team-a/web%3A spec.rules::50%25 <b>"x"</b>%0Asecond: line, here
::error file=deploy/a b.yaml,line=10,col=13,title=Ingress team-a/web%3A spec.rules::another
::warning file=b%3Ac.yaml,line=1,title=Pod a::control \x01 and \xff
::notice file=deploy/a b.yaml,line=3,col=1,title=Ingress team-a/web%3A spec.rules::seen
`
	r := sample()
	r.cases[3], r.cases[0] = r.cases[0], r.cases[3]
	if diff := cmp.Diff(want, write(t, GitHub, r)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestJUnit(t *testing.T) {
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="evergate review" tests="4" failures="1" errors="1">
  <testsuite name="deploy/a b.yaml" tests="1" failures="1" errors="0" skipped="0">
    <testcase name="Ingress team-a/web" classname="deploy/a b.yaml"><failure type="web/hosts.allowed" message="50% &lt;b&gt;&#34;x&#34;&lt;/b&gt; (and 1 more)">deploy/a b.yaml:9:13: error: 50% &lt;b&gt;&#34;x&#34;&lt;/b&gt;&#xA;second: line, here&#xA;deploy/a b.yaml:10:13: error: another&#xA;</failure><system-out>deploy/a b.yaml:3:1: note: seen&#xA;</system-out></testcase>
  </testsuite>
  <testsuite name="b:c.yaml" tests="2" failures="0" errors="0" skipped="0">
    <testcase name="Pod a" classname="b:c.yaml"><system-out>b:c.yaml:1: warning: control \x01 and \xff&#xA;</system-out></testcase>
    <testcase name="Pod a (2)" classname="b:c.yaml"></testcase>
  </testsuite>
  <testsuite name="stdin" tests="1" failures="0" errors="1" skipped="0">
    <testcase name="input" classname="stdin"><error type="input" message="not YAML">invalid: not YAML&#xA;</error></testcase>
  </testsuite>
</testsuites>
`
	got := write(t, JUnit, sample())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	conforms(t, got)
	r := sample()
	r.FailOnWarnings = true
	if got := write(t, JUnit, r); !strings.Contains(got, `<failure type="hub" message="control`) {
		t.Errorf("a warning does not fail: %s", got)
	}
}

// junitSchema contains the elements and attributes that the Jenkins schema (xunit-plugin, junit-10.xsd) allows below
// an element. Attributes with a ! are required.
func junitSchema() map[string][2][]string {
	detail := [2][]string{nil, {"type", "message"}}
	return map[string][2][]string{
		"testsuites": {{"testsuite"}, {"name", "time", "tests", "failures", "errors"}},
		"testsuite": {
			{"testsuite", "properties", "testcase", "system-out", "system-err"},
			{"name!", "tests!", "failures!", "errors!", "skipped", "time", "timestamp", "hostname", "id", "package", "file"},
		},
		"testcase": {
			{"skipped", "error", "failure", "system-out", "system-err"}, {"name!", "time", "classname", "group"},
		},
		"skipped": detail, "error": detail, "failure": detail, "system-out": {},
	}
}

// conforms checks that a text is XML, has only the elements and attributes of the schema, and has text only in
// allowed places.
func conforms(t *testing.T, text string) {
	t.Helper()
	schema, decoder := junitSchema(), xml.NewDecoder(strings.NewReader(text))
	open := []string{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			of, ok := schema[name]
			if !ok || len(open) > 0 && !slices.Contains(schema[open[len(open)-1]][0], name) || len(open) == 0 && name != "testsuites" {
				t.Errorf("%s below %v", name, open)
			}
			for _, known := range of[1] {
				required, must := strings.CutSuffix(known, "!")
				if must && !slices.ContainsFunc(token.Attr, func(a xml.Attr) bool { return a.Name.Local == required }) {
					t.Errorf("%s lacks %s", name, required)
				}
			}
			for _, a := range token.Attr {
				if !slices.Contains(of[1], a.Name.Local) && !slices.Contains(of[1], a.Name.Local+"!") {
					t.Errorf("%s has %s", name, a.Name.Local)
				}
			}
			open = append(open, name)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && strings.HasPrefix(open[len(open)-1], "test") && strings.TrimSpace(string(token)) != "" {
				t.Errorf("text in %v: %q", open, token)
			}
		}
	}
}

// sarifRun contains the fields of a run that the tests read.
type sarifRun struct {
	Tool struct {
		Driver struct {
			Rules []struct {
				ID   string
				Help struct{ Text string }
			}
		}
	}
	Invocations []struct {
		ExecutionSuccessful        bool
		ToolExecutionNotifications []struct{ Message struct{ Text string } }
	}
	Results []struct {
		RuleIndex int
		Level     string
		Locations []struct {
			PhysicalLocation *struct {
				ArtifactLocation struct{ URI string }
				Region           *struct{ StartLine, StartColumn int }
			}
			LogicalLocations []struct{ FullyQualifiedName string }
		}
		PartialFingerprints map[string]string
	}
}

// sarifOf writes a report as SARIF and validates it with the schema of the standard.
func sarifOf(t *testing.T, r *findings) sarifRun {
	t.Helper()
	text := write(t, SARIF, r)
	file, err := os.Open(filepath.Join("testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(sarifSchema, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(sarifSchema)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	var log struct{ Runs []sarifRun }
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatal(err)
	}
	return log.Runs[0]
}

func TestSARIF(t *testing.T) {
	run := sarifOf(t, sample())
	var got []string
	for _, r := range run.Results {
		place := "nowhere"
		if p := r.Locations[0].PhysicalLocation; p != nil {
			place = p.ArtifactLocation.URI
			if p.Region != nil {
				place += fmt.Sprintf(":%d:%d", p.Region.StartLine, p.Region.StartColumn)
			}
		}
		got = append(got, strings.Join([]string{
			r.Level, place, run.Tool.Driver.Rules[r.RuleIndex].ID, r.Locations[0].LogicalLocations[0].FullyQualifiedName,
		}, " "))
	}
	want := []string{
		"error nowhere input input",
		"error deploy/a%20b.yaml:9:13 web/hosts.allowed Ingress team-a/web: spec.rules",
		"error deploy/a%20b.yaml:10:13 web/hosts.allowed Ingress team-a/web: spec.rules",
		"warning ./b:c.yaml:1:0 hub Pod a",
		"note deploy/a%20b.yaml:3:1 old/hosts Ingress team-a/web: spec.rules",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if run.Invocations[0].ExecutionSuccessful {
		t.Error("a run that did not understand its input was successful")
	}
	if rule := run.Tool.Driver.Rules[1]; rule.Help.Text != "Which hosts." {
		t.Errorf("%+v", rule)
	}
	sarifOf(t, &findings{}) // no results
}

func fingerprints(t *testing.T, r *findings) []string {
	t.Helper()
	var all []string
	for _, result := range sarifOf(t, r).Results {
		all = append(all, result.PartialFingerprints[fingerprintName])
	}
	return all
}

// A result keeps its fingerprint if lines move, sentences change or the repository has another path. All fingerprints
// differ.
func TestFingerprints(t *testing.T) {
	before := fingerprints(t, sample())
	moved := sample()
	moved.Dir = "/elsewhere"
	for i := range moved.cases {
		c := &moved.cases[i]
		c.Place.File = strings.Replace(c.Place.File, "/repo/", "/elsewhere/", 1)
		c.Place.Line += 7
		for j := range c.Results {
			at := &c.Results[j].Place
			if at.File = strings.Replace(at.File, "/repo/", "/elsewhere/", 1); at.Line > 0 {
				at.Line += 7
			}
			c.Results[j].Message += "!"
		}
	}
	if diff := cmp.Diff(before, fingerprints(t, moved)); diff != "" {
		t.Errorf("(-before +moved)\n%s", diff)
	}
	unique := slices.Compact(slices.Sorted(slices.Values(before)))
	if len(unique) != len(before) {
		t.Errorf("some are the same: %q", before)
	}
	other := sample()
	other.cases[1].Results[0].Rule = "another"
	if slices.Equal(before, fingerprints(t, other)) {
		t.Error("another rule has the same")
	}
}

// Long texts are truncated. If there are too many results, the worst are kept.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", 16<<10)
	r := &findings{cases: []Case{{Suite: "a", Name: "a", Place: Place{File: "a", Line: 1}}}}
	for i := range maxResults + 10 {
		level := Note
		if i >= maxResults {
			level = Error
		}
		r.cases[0].Results = append(r.cases[0].Results, Result{Level: level, Rule: "r", Message: "m"})
	}
	r.cases[0].Results[3].Message = long
	run := sarifOf(t, r)
	if len(run.Results) != maxResults || run.Results[9].Level != "error" || run.Results[10].Level != "note" {
		t.Errorf("%d results, the tenth and the next: %s, %s", len(run.Results), run.Results[9].Level, run.Results[10].Level)
	}
	if got := run.Invocations[0].ToolExecutionNotifications[0].Message.Text; got != "10 more results are left out: a file has at most 5,000" {
		t.Error(got)
	}
	if got := write(t, GitHub, r); !strings.HasSuffix(got, "\n::notice::and 10 more\n") ||
		strings.Count(got, "\n") != maxResults+1 {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
	r.cases[0] = Case{Suite: long, Name: long, Place: Place{File: long, Line: 1}, Results: r.cases[0].Results[:maxShown+1]}
	for format, most := range map[Format]int{SARIF: 330 << 10, GitHub: 60 << 10, JUnit: 50 << 10} {
		if got := len(write(t, format, r)); got > most {
			t.Errorf("%s: %d bytes", format, got)
		}
	}
}

// Each format reports an error of the writer.
func TestWriteFails(t *testing.T) {
	for _, f := range []Format{Text, JSON, YAML, JUnit, SARIF, GitHub} {
		if err := Write(failing{}, f, sample(), Options{}); err == nil {
			t.Errorf("%s: no error", f)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// A value may contain any text from an object. The text must not control a terminal or a CI runner.
func TestEncodeEscapes(t *testing.T) {
	for _, value := range []string{
		"plain <none>", "a\u009bb", "a\x7fb", "a\u202eb", "a\U000e0001b", "a##[error]b", "a\n::error::b", "::error::b",
	} {
		for _, format := range []Format{JSON, YAML} {
			var b strings.Builder
			if err := Encode(&b, format, map[string]string{"v": value}); err != nil {
				t.Fatal(err)
			}
			var back map[string]string
			read := func(data []byte, to any) error { return yaml.Unmarshal(data, to) }
			if format == JSON {
				read = json.Unmarshal
			}
			if err := read([]byte(b.String()), &back); err != nil || back["v"] != value {
				t.Errorf("%s of %q: %q is read back as %q (%v)", format, value, b.String(), back["v"], err)
			}
			strange := func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) }
			if out := b.String(); strings.ContainsFunc(out, strange) || strings.Contains(out, "##") ||
				regexp.MustCompile(`(?m)^\s*::`).MatchString(out) {
				t.Errorf("%s of %q: %q", format, value, out)
			}
		}
	}
	var b strings.Builder
	if err := Encode(&b, YAML, map[string]string{"v": "plain <none>"}); err != nil || b.String() != "v: plain <none>\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
