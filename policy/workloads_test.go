package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/evergate/evergate/policy/object"
	"github.com/google/go-cmp/cmp"
)

const workloadsPolicy = `
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}
pods:
- {name: no-evil, mode: enforce, message: "ask #platform", images: {denied: [quay.io/evil]}}
- {name: mirrors, mode: enforce, workloads: enforce, exclude: {podLabels: [legacy]}, images: {from: mirrors}}
- {name: silent, mode: enforce, workloads: "off", images: {digest: required}}
- {name: tags, mode: warn, images: {deniedTags: [latest]}}
- {name: watched, mode: audit, workloads: enforce, images: {denied: [quay.io/old]}}
`

// template is a template of a Deployment with one container for each image.
func template(images ...string) object.PodTemplate {
	return object.PodTemplate{Pod: *imagePod(images...), Path: "spec.template.spec"}
}

func workload(templates ...object.PodTemplate) *object.Workload {
	return &object.Workload{Templates: templates}
}

var createWorkload = object.Attributes{Operation: object.Create, Namespace: "default", Group: "apps", Resource: "deployments", User: "jane"}

// said returns the findings with their modes: enforce no-evil/images.denied: …
func said(findings []Finding) (all []string) {
	for _, f := range findings {
		existed := ""
		if f.Existed {
			existed = " existed"
		}
		all = append(all, f.Mode.String()+existed+" "+f.String())
	}
	return all
}

func TestEvaluateWorkload(t *testing.T) {
	p := mustLoad(t, workloadsPolicy)
	legacy := template("ghcr.io/a/b:1")
	legacy.Labels = map[string]string{"legacy": ""}
	second := template("m.example/a:1", "quay.io/evil/b:latest")
	second.Path = "spec.jobs[1].template.spec"
	step := func(image string) object.PodTemplate { // a single image of a custom resource
		return object.PodTemplate{Pod: object.Pod{Images: []object.Image{{Place: object.ResourceField, Ref: image}}}, Path: "spec.steps[0].image"}
	}
	const mirrors = "; allowed are m.example/hub; its Pods will be denied"
	for name, test := range map[string]struct {
		w    *object.Workload
		want []string
	}{
		"rewritten in memory": {workload(template("nginx:1"), step("nginx:1"), step(" ")), nil},
		"a single image": {workload(step("quay.io/a:latest")), []string{
			`enforce mirrors/images.from: spec.steps[0].image: "quay.io/a:latest" is not pulled from a mirror` + mirrors,
			`warn tags/images.deniedTags: spec.steps[0].image: "quay.io/a:latest" has the tag latest, and that is denied`}},
		"denied": {workload(template("quay.io/evil/a:1")), []string{
			`warn no-evil/images.denied: spec.template.spec.containers[0].image: "quay.io/evil/a:1" is denied by quay.io/evil; its Pods will be denied (ask #platform)`,
			`enforce mirrors/images.from: spec.template.spec.containers[0].image: "quay.io/evil/a:1" is not pulled from a mirror` + mirrors}},
		"a rule that warns": {workload(template("m.example/hub/a")), []string{
			`warn tags/images.deniedTags: spec.template.spec.containers[0].image: "m.example/hub/a" has neither tag nor digest, which means latest, and that is denied`}},
		"a rule that audits": {workload(template("quay.io/old/a:1")), []string{
			`enforce mirrors/images.from: spec.template.spec.containers[0].image: "quay.io/old/a:1" is not pulled from a mirror` + mirrors,
			`audit watched/images.denied: spec.template.spec.containers[0].image: "quay.io/old/a:1" is denied by quay.io/old`}},
		"excluded by its labels": {workload(legacy), nil},
		"no template":            {workload(), nil},
		"several templates": {workload(template("m.example/hub/a:1"), second), []string{
			`warn no-evil/images.denied: spec.jobs[1].template.spec.containers[1].image: "quay.io/evil/b:latest" is denied by quay.io/evil; its Pods will be denied (ask #platform)`,
			`enforce mirrors/images.from: spec.jobs[1].template.spec.containers[0].image: "m.example/a:1" is not pulled from a mirror` + mirrors,
			`enforce mirrors/images.from: spec.jobs[1].template.spec.containers[1].image: "quay.io/evil/b:latest" is not pulled from a mirror` + mirrors,
			`warn tags/images.deniedTags: spec.jobs[1].template.spec.containers[1].image: "quay.io/evil/b:latest" has the tag latest, and that is denied`}},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(test.w.Templates)
			got := said(must(Workloads.Evaluate(p, createWorkload, test.w, nil, nil)))
			equal(t, test.want, got)
			if len(test.w.Templates) != before || before > 0 && strings.HasPrefix(test.w.Templates[0].Images[0].Ref, "m.example/hub/library") {
				t.Error("the template was changed")
			}
		})
	}
}

// A finding that does not deny the workload reports whether its Pods will be denied.
func TestEvaluateWorkloadPodsDenied(t *testing.T) {
	p := mustLoad(t, workloadsPolicy)
	var got []string
	for _, f := range must(Workloads.Evaluate(p, createWorkload, workload(template("quay.io/evil/a")), nil, nil)) {
		if f.PodsDenied {
			got = append(got, f.Rule)
		}
	}
	if diff := cmp.Diff([]string{"no-evil"}, got); diff != "" {
		t.Error(diff) // mirrors denies, and tags only warns of Pods too
	}
}

func TestRewriteTemplates(t *testing.T) {
	p := mustLoad(t, workloadsPolicy)
	second := template("nginx:1", "m.example/hub/a:1")
	second.Path = "spec.jobs[1].template.spec"
	var got []string
	for _, image := range must(p.RewriteTemplates(createWorkload, workload(template("ghcr.io/a/b:1"), second))) {
		got = append(got, image.Path+": "+image.Why())
	}
	want := []string{
		"spec.template.spec.containers[0].image: no source covers ghcr.io/a/b",
		"spec.jobs[1].template.spec.containers[0].image: pulled from m.example/hub/library/nginx:1 by mirrors entry hub",
		"spec.jobs[1].template.spec.containers[1].image: already at mirror hub",
	}
	equal(t, want, got)
}

// An update gets warnings about the findings that it introduces, in any of its templates.
func TestEvaluateWorkloadUpdates(t *testing.T) {
	p := mustLoad(t, workloadsPolicy)
	update := createWorkload
	update.Operation = object.Update
	const good, bad, worse = "m.example/hub/a:1", "m.example/hub/a", "m.example/hub/b"
	for name, test := range map[string]struct {
		old, w *object.Workload
		want   string // the modes
	}{
		"introduced":         {workload(template(good)), workload(template(bad)), "warn"},
		"as before":          {workload(template(bad)), workload(template(bad)), "audit existed"},
		"in another place":   {workload(template(good, bad)), workload(template(bad, good)), "audit existed"},
		"from another one":   {workload(template(good), template(bad)), workload(template(bad), template(good)), "audit existed"},
		"beside another one": {workload(template(bad)), workload(template(bad, worse)), "audit existed, warn"},
		"from none":          {workload(), workload(template(bad)), "warn"},
		"to none":            {workload(template(bad)), workload(), ""},
	} {
		var modes []string
		for _, s := range said(must(Workloads.Evaluate(p, update, test.w, test.old, nil))) {
			mode, _, _ := strings.Cut(s, " tags/")
			modes = append(modes, mode)
		}
		if got := strings.Join(modes, ", "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// The user who wrote an object was warned about it, so the objects that its controller creates do not get the warning
// again. A tenant can forge an owner, so a rule that denies also checks the author.
func TestEvaluateWorkloadOwners(t *testing.T) {
	p := mustLoad(t, workloadsPolicy)
	w := workload(template("quay.io/evil/a:latest"))
	for _, test := range []struct{ owner, user, want string }{
		{"", "jane", "warn enforce warn"},
		{"", "system:serviceaccount:kube-system:cronjob-controller", "warn enforce warn"},
		{"CronJob/x", "jane", "enforce"},
		{"CronJob/x", "system:serviceaccount:team:x", "enforce"},
		{"CronJob/x", "system:serviceaccount:kube-system:cronjob-controller", ""},
		{"CronJob/x", "system:kube-controller-manager", ""},
	} {
		a := createWorkload
		a.User, w.Owner = test.user, test.owner
		var modes []string
		for _, f := range must(Workloads.Evaluate(p, a, w, nil, nil)) {
			modes = append(modes, f.Mode.String())
		}
		if got := strings.Join(modes, " "); got != test.want {
			t.Errorf("owned by %q, written by %s: %s, want %s", test.owner, test.user, got, test.want)
		}
	}
}

func TestExplainWorkload(t *testing.T) {
	p := mustLoad(t, workloadsPolicy)
	legacy := template("ghcr.io/a/b:latest")
	legacy.Labels = map[string]string{"legacy": ""}
	got := Workloads.Explain(p, createWorkload, workload(legacy, template("ghcr.io/a/b:latest")))
	want := []RuleTrace{
		{Rule: "no-evil", Mode: Warn, Applies: true, Why: "applies"}, {Rule: "mirrors", Mode: Enforce, Applies: true, Why: "applies", Findings: 1}, {Rule: "tags", Mode: Warn, Applies: true, Why: "applies", Findings: 2},
		{Rule: "watched", Mode: Audit, Applies: true, Why: "applies"},
	}
	equal(t, want, got)
	for _, trace := range Workloads.Explain(p, createWorkload, workload()) {
		if trace.Applies || trace.Why != "not evaluated: it has no template with an image that can be evaluated" {
			t.Errorf("%+v", trace)
		}
	}
}

// If a rule is not evaluated because a workload has an owner, its explanation contains this reason.
func TestExplainOwnedWorkload(t *testing.T) {
	p := mustLoad(t, workloadsPolicy)
	w := workload(template("quay.io/evil/a:latest"))
	w.Owner = "CronJob/x"
	const (
		owned = "not evaluated: a controller owns it, and only rules with workloads: enforce apply to such a template"
		byIt  = "not evaluated: a Kubernetes controller owns it and has written it"
	)
	for user, want := range map[string][]RuleTrace{
		"jane": {
			{Rule: "no-evil", Mode: Warn, Why: owned}, {Rule: "mirrors", Mode: Enforce, Applies: true, Why: "applies", Findings: 1}, {Rule: "tags", Mode: Warn, Why: owned},
			{Rule: "watched", Mode: Audit, Why: owned},
		},
		"system:serviceaccount:kube-system:cronjob-controller": {
			{Rule: "no-evil", Mode: Warn, Why: byIt}, {Rule: "mirrors", Mode: Enforce, Why: byIt}, {Rule: "tags", Mode: Warn, Why: byIt},
			{Rule: "watched", Mode: Audit, Why: byIt},
		},
	} {
		a := createWorkload
		a.User = user
		if diff := cmp.Diff(want, Workloads.Explain(p, a, w)); diff != "" {
			t.Errorf("written by %s: -want +got:\n%s", user, diff)
		}
	}
}

// The evaluation of templates counts the steps of all templates.
func TestEvaluateWorkloadEffort(t *testing.T) {
	p := mustLoad(t, workloadsPolicy)
	var w object.Workload
	for range 5000 {
		w.Templates = append(w.Templates, template("m.example/hub/"+strings.Repeat("a/", 400)+"a:1", "quay.io/b"))
	}
	if _, err := Workloads.Evaluate(p, createWorkload, &w, &w, nil); err == nil {
		t.Error("no error")
	}
}

// An exception silences the findings of the templates that it matches until it ends. An update that leaves the
// exception gets a warning.
func TestEvaluateWorkloadExceptions(t *testing.T) {
	p := mustLoad(t, workloadsPolicy+`
exceptions:
- {name: ticket, rules: ["tags/*"], match: {podLabels: [calm]}, until: 2027-01-31, reason: T-1}
`)
	calm := template("m.example/hub/a")
	calm.Labels = map[string]string{"calm": ""}
	update := createWorkload
	update.Operation = object.Update
	for _, test := range []struct {
		now    string
		w, old object.PodTemplate
		want   string
	}{
		{"2027-01-31T23:59:59Z", calm, calm, "exempt"},
		{"2027-01-31T23:59:59Z", template("m.example/hub/a"), calm, "warn"},
		{"2027-02-01T00:00:00Z", calm, calm, "audit"},
	} {
		update.Now = must(time.Parse(time.RFC3339, test.now))
		got := must(Workloads.Evaluate(p, update, workload(test.w), workload(test.old), nil))
		if len(got) != 1 || got[0].ModeWord() != test.want {
			t.Errorf("%s: %v, want %s", test.now, got, test.want)
		}
	}
	update.Now = time.Time{}
	traces := Workloads.Explain(p, update, workload(calm))
	if traces[2].Findings != 1 || traces[2].Exempt != 1 {
		t.Errorf("%+v", traces[2])
	}
}

// The rules of a rule set evaluate workloads like Pods, after the mirrors of the policy have rewritten the images. An
// image that another rule denies as it is written is not rewritten.
func TestWorkloadsOfSets(t *testing.T) {
	p := mustLoad(t, `
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}
pods:
- {name: strict, mode: enforce, match: {set: gold}, images: {allowed: [m.example], denied: [docker.io/nice]}}
- {name: evil, mode: enforce, images: {denied: [docker.io/evil]}}
`)
	got := said(must(Workloads.Evaluate(p.In("gold", "pods"), createWorkload, workload(template("nice/x:1", "evil/x:1")), nil, nil)))
	want := []string{`warn strict/images.allowed: spec.template.spec.containers[1].image: "evil/x:1" is not allowed; ` +
		`allowed are m.example; its Pods will be denied`}
	equal(t, want, got, "findings")
}
