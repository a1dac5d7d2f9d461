package plan

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/suite"
)

// manifests contains all manifests in the repository, good and bad.
var manifests = []string{"../../examples", "../../policy/testdata", "../../cmd/testdata"}

// TestAsReview checks that each decision about each manifest is the decision of evergate review, for each example
// policy as the old and as the new policy.
func TestAsReview(t *testing.T) {
	paths, err := filepath.Glob("../../examples/policies/*.yaml")
	paths = slices.DeleteFunc(paths, suite.IsFile)
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d policies (%v)", len(paths), err)
	}
	all := running()
	none := reviewed(mustLoad(t, off), all) // every policy warns about malformed images
	for _, path := range append(paths, "../../policy/testdata/bypasses/policy.yaml", "../../cmd/testdata/policy.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			p := loadFile(t, path)
			want := reviewed(p, all)
			if len(want["validated"]) < len("100") || len(want) < 5 {
				t.Fatalf("too few objects are validated: %v", want)
			}
			asNew := decided(Options{New: p}, all, none, func(o *Object) offline.Decision { return o.New })
			if diff := cmp.Diff(want, asNew); diff != "" {
				t.Errorf("as the new policy (-review +plan):\n%s", diff)
			}
			asOld := decided(
				Options{Old: p, New: mustLoad(t, off)},
				all,
				none,
				func(o *Object) offline.Decision { return o.Old },
			)
			if diff := cmp.Diff(want, asOld); diff != "" {
				t.Errorf("as the old policy (-review +plan):\n%s", diff)
			}
		})
	}
}

// input contains objects and errors.
type input []struct {
	object offline.Object
	err    error
}

// running returns the manifests without ended Pods, which only review validates.
func running() (all input) {
	for object, err := range offline.Read(manifests, nil) {
		if err != nil || !object.HasEnded() {
			all = append(all, struct {
				object offline.Object
				err    error
			}{object, err})
		}
	}
	return all
}

func (in input) each(yield func(offline.Object, error) bool) {
	for _, x := range in {
		if !yield(x.object, x.err) {
			return
		}
	}
}

// reviewed returns the decisions of evergate review by place, without plain allowed, and the numbers of all
// decisions.
func reviewed(p *policy.Policy, all input) map[string]offline.Decision {
	r := offline.Review(offline.Options{Policy: p, Namespace: "default"}, all.each)
	m := map[string]offline.Decision{}
	for i := range r.Results {
		decision := r.Results[i].Decision
		if decision == offline.Allowed && r.Results[i].Warns() {
			decision = Warned
		}
		if decision != offline.Allowed {
			m[r.Results[i].Source] = decision
		}
	}
	m["validated"] = offline.Decision(strconv.Itoa(r.Summary.Validated))
	m["skipped"] = offline.Decision(strconv.Itoa(r.Summary.Skipped))
	m["errors"] = offline.Decision(strconv.Itoa(r.Summary.Errors))
	return m
}

// decided returns the same for a plan. The other policy decides as in other.
func decided(
	o Options,
	objects input,
	other map[string]offline.Decision,
	of func(*Object) offline.Decision,
) map[string]offline.Decision {
	m := maps.Clone(other)
	o.Limit = 1
	var all Summary
	for _, x := range objects { // one plan for each, because a plan lists Pods of one owner together
		p := New(o)
		p.Add(x.object, x.err)
		r := p.Report()
		all.Validated, all.Skipped = all.Validated+r.Summary.Validated, all.Skipped+r.Summary.Skipped
		all.Errors += r.Summary.Errors
		for i := range r.Objects {
			o := &r.Objects[i]
			if m[o.Source] = of(o); m[o.Source] == offline.Allowed || m[o.Source] == Audited {
				delete(m, o.Source)
			}
		}
	}
	m["validated"] = offline.Decision(strconv.Itoa(all.Validated))
	m["skipped"] = offline.Decision(strconv.Itoa(all.Skipped))
	m["errors"] = offline.Decision(strconv.Itoa(all.Errors))
	return m
}

func TestInput(t *testing.T) {
	o := Options{Old: mustLoad(t, warns), New: mustLoad(t, denies), Limit: 5}
	bad := pod("a", "p", "bad.example/x:1")
	owned := func(name string) string {
		return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "` + name + `", "namespace": "a", "labels": ` +
			`{"pod-template-hash": "1"}, "ownerReferences": [{"kind": "ReplicaSet", "name": "web-1", "controller": true}]}, ` +
			`"spec": ` + badSpec + `}`
	}
	for _, tt := range []struct {
		name, input string
		validated   int
		changes     map[Kind]int
		objects     []string
		errors      []string
		skipped     string
	}{
		{
			name: "the same object twice", input: bad + bad, validated: 2, changes: map[Kind]int{NewlyDenied: 2},
			objects: []string{"Pod a/p (stdin:1), 2 times: allowed with a warning → denied"},
		},
		{
			name: "Pods of one owner", input: owned("web-1-a") + owned("web-1-b") + owned("web-1-c"), validated: 3,
			changes: map[Kind]int{NewlyDenied: 3},
			objects: []string{
				"Pod a/web-1-a (stdin:1) and 2 more of Deployment web: allowed with a warning → denied",
			},
		},
		{
			name:  "a list that breaks off",
			input: "{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [\n" + bad + ",\n" + bad[:40], validated: 1,
			changes: map[Kind]int{NewlyDenied: 1},
			objects: []string{"Pod a/p (stdin:2: item 1): allowed with a warning → denied"},
			errors:  []string{"stdin:3: item 2: the JSON is truncated: it ends before the object does"},
		},
		{
			name: "a List in a List", validated: 1, changes: map[Kind]int{NewlyDenied: 1},
			input: `{"kind": "List", "apiVersion": "v1", "items": [` + bad +
				`, {"kind": "PodList", "apiVersion": "v1", "items": [` + bad + `]}]}`,
			objects: []string{"Pod a/p (stdin:1: item 1): allowed with a warning → denied"},
			errors:  []string{"stdin:1: item 2: a PodList within a List: move its items to the outer List"},
		},
		{
			name: "kinds that are not validated", validated: 1, changes: map[Kind]int{NewlyDenied: 1},
			input:   `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}}` + bad,
			objects: []string{"Pod a/p (stdin:1): allowed with a warning → denied"},
			skipped: "ConfigMap c (not validated)",
		},
		{
			name: "a Pod that ended", input: strings.Replace(bad, `"spec"`, `"status": {"phase": "Failed"}, "spec"`, 1),
		},
		{
			name:  "a mirror Pod",
			input: strings.Replace(bad, `"metadata": {`, `"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}, `, 1),
		},
		{
			name:   "a review",
			input:  `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}`,
			errors: []string{"stdin:1: this is a review, not a manifest: use evergate review --admission-review"},
		},
		{
			name:   "an event",
			input:  `{"kind": "Event", "apiVersion": "audit.k8s.io/v1"}`,
			errors: []string{"stdin:1: this is an event of an audit log, not a manifest: add --audit"},
		},
		{
			name:      "an object that neither policy can decide is one error",
			input:     pod("a", "p", "x") + `{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": 5}}`,
			validated: 1,
			errors:    []string{"stdin:1: document 2: Pod: spec.containers: want a list, got a number"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := planOf(o, tt.input)
			var objects []string
			for i := range r.Objects {
				objects = append(objects, r.Objects[i].String())
			}
			skipped := strings.TrimPrefix(strings.Join(r.Lines(), "\n"), "skipped: ")
			if tt.changes == nil {
				tt.changes = map[Kind]int{}
			}
			for what, diff := range map[string]string{
				"objects": cmp.Diff(tt.objects, objects), "errors": cmp.Diff(tt.errors, r.Errors),
				"changes": cmp.Diff(tt.changes, changesOf(r.Summary.Changes)), "skipped": cmp.Diff(tt.skipped, skipped),
				"validated": cmp.Diff(tt.validated, r.Summary.Validated),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// The most important objects are listed first, independently of their order in the input. Objects that are not listed
// are counted.
func TestLimit(t *testing.T) {
	o := Options{
		Old: mustLoad(t, off), Limit: 2,
		New: mustLoad(t, "pods:\n- {name: w, mode: warn, images: {denied: [warn.example]}}\n"+
			"- {name: d, mode: enforce, images: {denied: [bad.example]}}\n"),
	}
	input := ""
	for i := range 5 {
		input += pod("a", "w"+strconv.Itoa(i), "warn.example/x:1")
	}
	r := planOf(o, input+pod("a", "p", "bad.example/x:1"))
	if len(r.Objects) != 2 || r.Objects[0].Name != "p" || r.Objects[1].Name != "w0" || r.MoreObjects != 4 {
		t.Errorf("%+v and %d more", r.Objects, r.MoreObjects)
	}
	o.Limit = 0
	if r = planOf(o, input); len(r.Objects) != 0 || r.MoreObjects != 5 || r.Summary.Changes.Of(NewlyWarned) != 5 {
		t.Errorf("%+v and %d more", r.Objects, r.MoreObjects)
	}
}

func TestRecord(t *testing.T) {
	const record = `"annotations": {"evergate.dev/original-images": "{\"containers/app\":\"bad.example/x:1\"}"}, "name": "p"`
	rewritten := strings.Replace(pod("a", "p", "n.example/bad/x:1"), `"name": "p"`, record, 1)
	o := Options{Old: mustLoad(t, rewrites), New: mustLoad(t, moves), Limit: 1}
	r := planOf(o, rewritten)
	if r.Summary.Unchanged != 1 || r.Summary.RecordedPods != 1 {
		t.Errorf("%+v", r.Summary)
	}
	const note = "note: Pods that were already rewritten, validated with their current images: 1; --from-record validates " +
		"their original images, as if the Pods were created again\n"
	if text := textOf(r); !strings.Contains(text, note) {
		t.Error(text)
	}
	o.Recorded = true
	r = planOf(o, rewritten)
	want := []Image{{
		Path: "spec.containers[0].image", Image: "bad.example/x:1", Old: "n.example/bad/x:1", New: "n.example/other/x:1",
		OldEntry: "m", NewEntry: "m",
	}}
	if len(r.Objects) != 1 || !r.Objects[0].FromRecord || cmp.Diff(want, r.Objects[0].Images) != "" {
		t.Errorf("%+v", r.Objects)
	}
	if text := textOf(r); !strings.Contains(text, "do not trust the result") ||
		!strings.Contains(text, ", by its record") {
		t.Error(text)
	}
}

func textOf(r *Report) string {
	var p output.Printer
	r.WriteText(&p)
	return p.String()
}

// Long or numerous values in the input do not increase the size of the report.
func TestBounds(t *testing.T) {
	long := strings.Repeat("X", 1<<20) // also as a kind
	o := Options{
		Old:   mustLoad(t, off),
		New:   mustLoad(t, denies+"services: [{name: s, mode: enforce, types: {denied: [NodePort]}}]\n"),
		Limit: 3,
	}
	var input strings.Builder
	for _, object := range []string{
		pod(long, "p", "bad.example/x:1"), pod("a", long, "bad.example/x:1"), pod("a", "p", "bad.example/x:"+long),
		`{"kind": "` + long + `", "apiVersion": "v1"}`, `{"kind": "X", "apiVersion": "` + long + `/v1"}`,
		`{"kind": "Pod", "apiVersion": "` + long + `"}`, `{"kind": "` + long + `"}`,
		`{"kind": "X", "apiVersion": "v1", "metadata": {"name": "` + long + `"}}`,
	} {
		input.WriteString(object)
	}
	size := func(r *Report) int {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return len(data) + len(textOf(r))
	}
	if r := planOf(o, input.String()); size(r) > 64<<10 || r.Summary.Changes.Of(NewlyDenied) < 2 || r.Summary.Errors < 2 {
		t.Errorf("%d bytes, %+v", size(r), r.Summary)
	}

	input.Reset()
	const maxNames = 10_000 // of an output.Tally
	const many = maxNames + 5
	for i := range many {
		n := strconv.Itoa(i)
		input.WriteString(
			`{"kind": "Service", "apiVersion": "v1", "metadata": {"namespace": "n` + n + `"}, "spec": {"type": "NodePort"}}` +
				`{"kind": "K` + n + `", "apiVersion": "v1"}` + `{"kind": "Pod", "apiVersion": "v` + n + `"}`,
		)
	}
	p := New(o)
	p.AddAll(offline.Read([]string{offline.Stdin}, strings.NewReader(input.String())))
	if len(p.objects.at) > o.Limit*numKinds || len(p.spaces.Rows()) > maxNames+1 {
		t.Errorf("%d objects and %d namespaces are kept", len(p.objects.at), len(p.spaces.Rows()))
	}
	r := p.Report()
	if len(r.Namespaces) != maxRows || r.Namespaces[0].Name != "(others)" || r.Namespaces[0].Changes.Of(NewlyDenied) != 5 ||
		r.MoreNamespaces != maxNames+1-maxRows {
		t.Errorf("%d namespaces and %d more, first %+v", len(r.Namespaces), r.MoreNamespaces, r.Namespaces[0])
	}
	if len(r.Skipped) > 1001 || r.Summary.Skipped != many || len(r.Errors) != maxErrors || r.Summary.Errors != many-1 {
		t.Errorf("%d skipped of %d, %d errors of %d", len(r.Skipped), r.Summary.Skipped, len(r.Errors), r.Summary.Errors)
	}
	if len(r.Objects) != o.Limit || r.MoreObjects != many-o.Limit {
		t.Errorf("%d objects and %d more", len(r.Objects), r.MoreObjects)
	}
}

// The documentation page contains every field of the JSON.
func TestDocumented(t *testing.T) {
	page := string(must(os.ReadFile("../../docs/plan.md")))
	for _, k := range kinds() {
		if words, _ := k.words(); !strings.Contains(page, "| `"+string(k)+"` | "+words+" |") {
			t.Errorf("docs/plan.md has no row for %s, %s", string(k), words)
		}
	}
	data := must(json.Marshal(Counts{1}))
	want := `{"newlyDenied":1,"podsNewlyDenied":0,"newlyAllowed":0,"podsNoLongerDenied":0,"newlyWarned":0,` +
		`"noLongerWarned":0,"newlyAudited":0,"noLongerAudited":0,"rewrittenOtherwise":0,"otherFindings":0}`
	if string(data) != want {
		t.Errorf("%s", data)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
