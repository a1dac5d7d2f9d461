package offline

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/evergate/evergate/policy"
)

var update = flag.Bool("update", false, "write the sentences of the bypasses")

const bypasses = "../policy/testdata/bypasses"

// TestBypasses evaluates each object in the corpus of bypasses. All of them are denied, with the sentences in the
// file. In a cluster, the API server may reject some of them before the webhooks.
func TestBypasses(t *testing.T) {
	p := bypassPolicy(t)
	paths, err := filepath.Glob(bypasses + "/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no bypasses: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimPrefix(path, bypasses+"/"), func(t *testing.T) { testBypass(t, p, path) })
	}
}

func bypassPolicy(t *testing.T) *policy.Policy {
	t.Helper()
	data := must(os.ReadFile(bypasses + "/policy.yaml"))
	p := must(policy.Load(policy.File{Name: "policy.yaml", Data: data}))
	return p
}

func testBypass(t *testing.T, p *policy.Policy, path string) {
	var objects []Object
	for object, err := range Read([]string{path}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	o := Options{Policy: p}
	if len(objects) == 2 {
		old := must(NewIndex(only(objects[0]), ""))
		o.Old, objects = old, objects[1:]
	}
	if len(objects) != 1 {
		t.Fatalf("%d objects: want one, or two for an update", len(objects))
	}
	report := Review(o, only(objects[0]))
	if report.Decision != Denied || len(report.Results) != 1 {
		t.Fatalf("it is %s: %v %v", report.Decision, report.Errors, report.Skipped)
	}
	var got []string
	for _, f := range report.Results[0].Findings {
		got = append(got, wantMark+sentence(f))
	}
	if *update {
		writeWant(t, path, got)
	}
	top := topOf(t, path)
	equal(t, top.want, got, "sentences")
	if top.byExample != (top.byUs && passesExample(t, objects[0])) {
		t.Errorf("the example policy of Gateway API lets it in: %t", !top.byExample)
	}
}

// passesExample reports whether the example admission policy on the security page of Gateway API admits an object, in
// a namespace that may use one host. The policy allows an HTTPRoute without hostnames, or whose hostnames are all in
// a list. It only matches HTTPRoutes, so other kinds are not marked.
func passesExample(t *testing.T, o Object) bool {
	t.Helper()
	if o.Kind != "HTTPRoute" {
		return false
	}
	value := must(field(o.JSON, "spec", "hostnames"))
	var hostnames []string
	if value != nil {
		if err := json.Unmarshal(value, &hostnames); err != nil {
			t.Fatal(err)
		}
	}
	return !slices.ContainsFunc(hostnames, func(h string) bool { return h != "web.team.example" })
}

// only yields one object.
func only(o Object) func(func(Object, error) bool) {
	return func(yield func(Object, error) bool) { yield(o, nil) }
}

// sentence returns a finding as users read it in a denial.
func sentence(f Finding) string {
	s := f.ID + ": "
	if f.Path != "" {
		s += f.Path + ": "
	}
	return s + f.Message
}

const wantMark = "# want: "

// top contains the comments at the top of a manifest.
type top struct {
	want      []string // the lines with sentences
	byUs      bool     // it reaches the webhooks
	byExample bool     // it passes the example policy of Gateway API
}

func topOf(t *testing.T, path string) top {
	t.Helper()
	data := must(os.ReadFile(path))
	var said top
	denied := false
	for line := range strings.Lines(string(data)) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, wantMark):
			said.want = append(said.want, line)
		case line == "# rejected by: Evergate":
			said.byUs, denied = true, true
		case line == "# rejected by: schema":
			denied = true
		case line == "# example policy: lets it in":
			said.byExample = true
		case !strings.HasPrefix(line, "# ") && !denied:
			t.Fatal("the manifest does not say which part rejects it")
		}
	}
	return said
}

// writeWant writes the sentences to the top of a manifest, after the other comments.
func writeWant(t *testing.T, path string, want []string) {
	t.Helper()
	data := must(os.ReadFile(path))
	var out bytes.Buffer
	top := true
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, wantMark) {
			continue
		}
		if top && !strings.HasPrefix(line, "# ") {
			top = false
			for _, w := range want {
				out.WriteString(w + "\n")
			}
		}
		out.WriteString(line)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
