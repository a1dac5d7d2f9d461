package deploy

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
)

func TestText(t *testing.T) {
	inv, _ := Read(func(yield func(offline.Object, error) bool) {
		yield(offline.Object{}, &offline.SkippedError{File: "README.md", Why: "no manifest"})
	})
	inv.sources[&corev1.Namespace{}], inv.sources[&corev1.Service{}] = "a", "b"
	r := newReport(inv, nil, []Finding{
		{ID: "a", Severity: Info, Object: "Namespace x", Message: "found"},
		{ID: "b", Severity: Warning, Object: "Service y", Source: "f.yaml:3", Message: "bad", Why: "because", Fix: "do"},
		{ID: "c", Severity: Error, Object: "Pod \x1b[31mz", Message: "##[x] worse\nthan bad", Why: "because", Fix: "do"},
	})
	want := fmt.Sprintf(`error    c  Pod \x1b[31mz
         #\x23[x] worse than bad
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
`, len(checks()))
	var p output.Printer
	r.WriteText(&p)
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Error(diff)
	}
}

func TestHours(t *testing.T) {
	for d, want := range map[time.Duration]string{
		2160 * time.Hour:               "2160h",
		24*time.Hour + 30*time.Minute:  "24h30m",
		10 * time.Minute:               "10m",
		10 * time.Second:               "10s",
		100*time.Hour + 20*time.Second: "100h0m20s",
	} {
		if got := hours(d); got != want {
			t.Errorf("%s, want %s", got, want)
		}
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
