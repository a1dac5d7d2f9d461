package policy

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the sentences of testdata/ingresses anew")

// TestIngressManifests judges each testdata/ingresses/<check>/*.yaml by the policy.yaml beside it. What users shall
// read stands at the top of a manifest, a sentence a line after "# want: "; good ones have none. A case is added by
// adding a file, and its sentences by go test -update.
func TestIngressManifests(t *testing.T) {
	for _, file := range testdata(t, "ingresses/*/policy.yaml") {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			p := mustLoadBeside(t, file)
			good, _ := filepath.Glob(filepath.Join(dir, "good*.yaml"))
			bad, _ := filepath.Glob(filepath.Join(dir, "bad*.yaml"))
			if len(good) == 0 || len(bad) == 0 {
				t.Fatal("want a good and a bad manifest at least")
			}
			for _, m := range append(good, bad...) {
				t.Run(filepath.Base(m), func(t *testing.T) { judgeManifest(t, p, m) })
			}
		})
	}
}

func judgeManifest(t *testing.T, p *Policy, file string) {
	findings := must(p.JudgeIngress(creating, readIngress(t, file), nil, nil))
	for _, f := range findings {
		if check := filepath.Base(filepath.Dir(file)); f.Check != check {
			t.Errorf("finding of %s in the directory of %s", f.Check, check)
		}
	}
	got := sentences(findings)
	want, body := splitManifest(t, file)
	if *update {
		writeManifest(t, file, got, body)
		want = got
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
	checkName(t, file, got)
}

// splitManifest splits a manifest into the sentences at its top, and the rest.
func splitManifest(t *testing.T, file string) (want []string, body string) {
	t.Helper()
	body = string(readFile(t, file))
	for strings.HasPrefix(body, wantMark) {
		var line string
		line, body, _ = strings.Cut(body, "\n")
		want = append(want, strings.TrimPrefix(line, wantMark))
	}
	return want, body
}

func writeManifest(t *testing.T, file string, want []string, body string) {
	t.Helper()
	var b strings.Builder
	for _, line := range want {
		b.WriteString(wantMark + line + "\n")
	}
	b.WriteString(body)
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
