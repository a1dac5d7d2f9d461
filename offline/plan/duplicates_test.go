package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// TestNewDuplicates checks that a plan lists the duplicates that only the new policy reports, or reports in a stricter
// mode.
func TestNewDuplicates(t *testing.T) {
	load := func(entries string) *policy.Policy {
		p, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte("apiVersion: evergate.dev/v1alpha1\n" +
			"kind: EvergatePolicy\nunique: [" + entries + "]\n")})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const warn, enforce = "{name: h, mode: warn, what: hosts}", "{name: h, mode: enforce, what: hosts}"
	const paths = "{name: p, mode: warn, what: hostPaths}"
	var manifests []string
	for _, name := range []string{"a", "b"} {
		manifests = append(manifests, fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: %s, `+
			`namespace: %[1]s}, spec: {rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix}]}}]}}`, name))
	}
	for _, test := range []struct {
		old, new string
		want     []string
	}{
		{warn, warn, nil},
		{enforce, warn, []string{"warning h/unique a", "warning h/unique b"}},
		{warn, enforce, []string{"duplicate h/unique a", "duplicate h/unique b"}},
		{warn, warn + "," + paths, []string{"warning p/unique a", "warning p/unique b"}},
		{enforce, "", nil},
	} {
		p := New(Options{Old: load(test.old), New: load(test.new), Limit: 100})
		p.AddAll(offline.ReadText("m.yaml", strings.NewReader(strings.Join(manifests, "\n---\n"))))
		r := p.Report()
		var got []string
		for _, d := range r.Duplicates {
			got = append(got, string(d.Findings[0].Effect)+" "+d.Findings[0].ID+" "+d.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" || r.Changes() != (got != nil) || r.Warns() != (got != nil) ||
			r.Denies() || len(r.Errors) > 0 {
			t.Errorf("%s → %s: %s\n%v", test.old, test.new, diff, r.Errors)
		}
		p.o.Limit = 1
		if r = p.Report(); len(got) == 2 && r.MoreDuplicates != 1 {
			t.Errorf("%d more than the limit", r.MoreDuplicates)
		}
	}
}
