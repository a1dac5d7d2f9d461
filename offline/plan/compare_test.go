package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The policies that are compared with each other.
const (
	off        = "mirrors: []\n"
	audits     = "pods: [{name: r, mode: audit, images: {denied: [bad.example]}}]\n"
	warns      = "pods: [{name: r, mode: warn, images: {denied: [bad.example]}}]\n"
	deniesPods = "pods: [{name: r, mode: enforce, workloads: warn, images: {denied: [bad.example]}}]\n"
	denies     = "pods: [{name: r, mode: enforce, workloads: enforce, images: {denied: [bad.example]}}]\n"
	rivals     = "pods: [{name: q, mode: warn, images: {denied: [bad.example]}}]\n"
	exempts    = "pods: [{name: r, mode: enforce, images: {denied: [bad.example]}, " +
		"exclude: {namespaces: [a], until: 2999-01-01, reason: moving}}]\n"
	rewrites = "mirrors: [{name: m, mode: enforce, sources: [bad.example], mirror: n.example/bad}]\n"
	moves    = "mirrors: [{name: m, mode: enforce, sources: [bad.example], mirror: n.example/other}]\n"
	secret   = "mirrors: [{name: m, mode: enforce, sources: [bad.example], mirror: n.example/bad, imagePullSecret: s}]\n"
	tells    = "mirrors: [{name: m, mode: warn, sources: [bad.example], mirror: n.example/bad}]\n"
	notes    = "mirrors: [{name: m, mode: audit, sources: [bad.example], mirror: n.example/bad}]\n"
)

const (
	badPod        = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}, "spec": ` + badSpec + `}`
	badDeployment = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "a"}, ` +
		`"spec": {"template": {"spec": ` + badSpec + `}}}`
	badSpec = `{"containers": [{"name": "app", "image": "bad.example/x:1"}]}`
)

func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		name, old, new, object string
		kinds                  string // of the object
		decisions              string
		rules                  string
	}{
		{"nothing", denies, denies, badPod, "", "", ""},
		{"off → enforce", off, denies, badPod, "newlyDenied", "allowed denied", "r/images.denied newlyDenied"},
		{"warn → enforce", warns, denies, badPod, "newlyDenied", "warned denied", "r/images.denied newlyDenied"},
		{"enforce → warn", denies, warns, badPod, "newlyAllowed", "denied warned", "r/images.denied newlyAllowed"},
		{"enforce → off", denies, off, badPod, "newlyAllowed", "denied allowed", "r/images.denied newlyAllowed"},
		{"off → warn", off, warns, badPod, "newlyWarned", "allowed warned", "r/images.denied newlyWarned"},
		{"warn → off", warns, off, badPod, "noLongerWarned", "warned allowed", "r/images.denied noLongerWarned"},
		{"off → audit", off, audits, badPod, "newlyAudited", "allowed audited", "r/images.denied newlyAudited"},
		{"audit → off", audits, off, badPod, "noLongerAudited", "audited allowed", "r/images.denied noLongerAudited"},
		{"warn → audit", warns, audits, badPod, "noLongerWarned", "warned audited", "r/images.denied noLongerWarned"},
		{"another rule", warns, rivals, badPod, "otherFindings", "warned warned",
			"q/images.denied newlyWarned, r/images.denied noLongerWarned"},
		{"an exception", denies, exempts, badPod, "newlyAllowed", "denied allowed", "r/images.denied newlyAllowed"},
		{"a workload's Pods", warns, deniesPods, badDeployment, "podsNewlyDenied", "warned podsDenied",
			"r/images.denied podsNewlyDenied"},
		{"no longer", deniesPods, off, badDeployment, "podsNoLongerDenied", "podsDenied allowed",
			"r/images.denied podsNoLongerDenied"},
		{"a workload itself", deniesPods, denies, badDeployment, "newlyDenied", "podsDenied denied", "r/images.denied newlyDenied"},
		{"a mirror", off, rewrites, badPod, "rewrittenOtherwise", "allowed allowed", "mirrors entry m rewrittenOtherwise"},
		{"no mirror", rewrites, off, badPod, "rewrittenOtherwise", "allowed allowed", "mirrors entry m rewrittenOtherwise"},
		{"another mirror", rewrites, moves, badPod, "rewrittenOtherwise", "allowed allowed", "mirrors entry m rewrittenOtherwise"},
		{"a template", rewrites, moves, badDeployment, "rewrittenOtherwise", "allowed allowed",
			"mirrors entry m rewrittenOtherwise"},
		{"a pull secret", rewrites, secret, badPod, "rewrittenOtherwise", "allowed allowed", "mirrors entry m rewrittenOtherwise"},
		{"a mirror that warns", off, tells, badPod, "newlyWarned", "allowed warned", "mirrors entry m newlyWarned"},
		{"a mirror that audits", off, notes, badPod, "newlyAudited", "allowed audited", "mirrors entry m newlyAudited"},
		{"warn → enforce of a mirror", tells, rewrites, badPod, "noLongerWarned rewrittenOtherwise", "warned allowed",
			"mirrors entry m noLongerWarned, mirrors entry m rewrittenOtherwise"},
		{"a registry of short names", rewrites, "shortNameRegistry: bad.example\n" + rewrites,
			strings.Replace(badPod, "bad.example/x", "x", 1), "rewrittenOtherwise", "allowed allowed",
			"mirrors entry m rewrittenOtherwise"},
		{"a short name", off, "mirrors: [{name: m, mode: enforce, sources: [docker.io], qualify: true}]\n",
			strings.Replace(badPod, "bad.example/x", "x", 1), "rewrittenOtherwise", "allowed allowed",
			"mirrors entry m rewrittenOtherwise"},
		{"denied for want of a mirror", rewrites, denies, badPod, "newlyDenied", "allowed denied",
			"r/images.denied newlyDenied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := planOf(Options{Old: mustLoad(t, tt.old), New: mustLoad(t, tt.new), Limit: 10}, tt.object)
			var kinds, decisions string
			for _, o := range r.Objects {
				words := make([]string, len(o.Changes))
				for i, k := range o.Changes {
					words[i] = string(k)
				}
				kinds, decisions = strings.Join(words, " "), fmt.Sprint(o.Old, " ", o.New)
			}
			if kinds != tt.kinds || decisions != tt.decisions {
				t.Errorf("%q (%s), want %q (%s)", kinds, decisions, tt.kinds, tt.decisions)
			}
			if diff := cmp.Diff(tt.rules, rulesOf(r)); diff != "" {
				t.Errorf("by rule (-want +got):\n%s", diff)
			}
			if r.Summary.Validated != 1 || r.Changes() != (tt.kinds != "") || len(r.Errors) > 0 {
				t.Errorf("%+v %v", r.Summary, r.Errors)
			}
		})
	}
}

// rulesOf returns the changes by rule as a sorted text.
func rulesOf(r *Report) string {
	var all []string
	for _, row := range r.Rules {
		for _, k := range kinds() {
			if row.Changes.Of(k) > 0 {
				all = append(all, row.Name+" "+string(k))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// A difference is listed once. If both policies have a finding, the old effect is included.
func TestDifferences(t *testing.T) {
	r := planOf(Options{Old: mustLoad(t, warns+rewritesElse), New: mustLoad(t, denies+movesElse), Limit: 1},
		strings.Replace(badPod, badSpec, `{"containers": [{"name": "app", "image": "bad.example/x:1"}],
			"initContainers": [{"name": "init", "image": "else.example/y:1"}]}`, 1))
	if len(r.Objects) != 1 {
		t.Fatalf("%d objects", len(r.Objects))
	}
	o := r.Objects[0]
	want := "changed warning denied r/images.denied spec.containers[0].image"
	if f := o.Findings; len(f) != 1 ||
		fmt.Sprint(f[0].Change, " ", f[0].Was, " ", f[0].Effect, " ", f[0].ID, " ", f[0].Path) != want {
		t.Errorf("%+v", f)
	}
	if len(o.Images) > 0 {
		t.Errorf("images of what is denied: %+v", o.Images)
	}
	r = planOf(Options{Old: mustLoad(t, rewritesElse), New: mustLoad(t, movesElse), Limit: 1},
		strings.ReplaceAll(badPod, "bad.example", "else.example"))
	image := Image{
		Path: "spec.containers[0].image", Image: "else.example/x:1", Old: "n.example/a/x:1", New: "n.example/b/x:1",
		OldEntry: "e", NewEntry: "e",
	}
	if diff := cmp.Diff([]Image{image}, r.Objects[0].Images); diff != "" {
		t.Error(diff)
	}
}

const (
	rewritesElse = "mirrors: [{name: e, mode: enforce, sources: [else.example], mirror: n.example/a}]\n"
	movesElse    = "mirrors: [{name: e, mode: enforce, sources: [else.example], mirror: n.example/b}]\n"
)
