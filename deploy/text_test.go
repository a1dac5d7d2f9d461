package deploy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
)

func TestText(t *testing.T) {
	r := &Report{Summary: Summary{2, 1, 1, 1}, Findings: []Finding{
		{ID: "c", Severity: Error, Object: "Pod z", Message: "worse than bad", Why: "because", Fix: "do"},
		{ID: "b", Severity: Warning, Object: "Service y", Source: "f.yaml:3", Message: "bad", Why: "because", Fix: "do"},
		{ID: "a", Severity: Info, Object: "Namespace x", Message: "found"},
	}, SkippedFiles: []offline.SkippedFiles{{Why: "no manifest", Count: 1, Names: []string{"README.md"}}}}
	want := fmt.Sprintf(`error    c  Pod z
         worse than bad
         why:  because
         fix: do
warning  b  Service y (f.yaml:3)
         bad
         why:  because
         fix: do
info     a  Namespace x
         found

skipped: 1 file: README.md (no manifest)
2 objects, %d checks: 1 error, 1 warning, 1 info
`, len(kinds()))
	var p output.Printer
	r.WriteText(&p)
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Error(diff)
	}
}

// Names and values of manifests cannot control a terminal or a pipeline runner.
func TestPrintable(t *testing.T) {
	i := &inspection{Install: &install.Install{Objects: install.NewObjects()}, kinds: kinds()}
	i.at("scope", install.Ref{Kind: "Pod", Name: "\x1b[31mz"}).error(true, "worse\n##[group]%s", strings.Repeat("x", 5000))
	f := i.result().Findings[0]
	if f.Object != "Pod \\x1b[31mz" || !strings.HasPrefix(f.Message, "worse #\\x23[group]x") || len(f.Message) > 4200 {
		t.Errorf("%q: %q", f.Object, f.Message)
	}
}

func TestSome(t *testing.T) {
	names := make([]string, 22)
	for i := range names {
		names[i] = string(rune('a' + i))
	}
	for n, want := range map[int]string{
		0: "none", 2: "a, b", 22: "a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t and 2 more",
	} {
		if got := some(names[:n]); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// GOMEMLIMIT is parsed as Go's runtime does, which ends the process if it cannot parse it.
func TestGoBytes(t *testing.T) {
	for s, want := range map[string]int64{
		"": -1, "off": -1, "0": 0, "419430400": 400 << 20, "419430400B": 400 << 20, "1KiB": 1 << 10, "400MiB": 400 << 20,
		"2GiB": 2 << 30, "1TiB": 1 << 40,
	} {
		if got, ok := goBytes(s); !ok || got != want {
			t.Errorf("%q: %d, %t, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"400Mi", "400MB", "400M", "B", "MiB", "-1", "-1MiB", "1.5GiB", " 1", "8388608TiB"} {
		if got, ok := goBytes(s); ok {
			t.Errorf("%q: %d", s, got)
		}
	}
}

// The order of requirements does not change a selector.
func TestCanonical(t *testing.T) {
	in := metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"b"}}
	exists := metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOpExists}
	one := canonical(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{in, exists}})
	other := canonical(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{exists, in}})
	if one != other {
		t.Errorf("%s and %s", one, other)
	}
}
