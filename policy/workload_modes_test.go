package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// The mode of a finding about a workload, by the mode of the rule and its workloads field. The mode is empty if the
// rule does not report the finding.
func TestModesOfWorkloads(t *testing.T) {
	columns := []string{"", "off", "warn", "enforce"}
	for mode, want := range map[string][]string{
		"off":     {"", "", "", ""},
		"audit":   {"audit", "", "audit", "audit"},
		"warn":    {"warn", "", "warn", "warn"},
		"enforce": {"warn", "", "warn", "enforce"},
	} {
		for i, workloads := range columns {
			p := mustLoad(t, modesPolicy(mode, workloads))
			for _, test := range []struct {
				owner, user string
				told        bool // of a finding that does not deny
				denied      bool // in a rule that denies
			}{
				{"", "jane", true, true},
				{"", "system:serviceaccount:team:builder", true, true},
				// A Kubernetes controller does not write an object without an owner.
				{"", "system:serviceaccount:kube-system:cronjob-controller", true, true},
				{"CronJob/nightly", "jane", false, true},
				{"CronJob/nightly", "system:serviceaccount:kube-systems:x", false, true},
				{"CronJob/nightly", "system:serviceaccount:team:kube-system", false, true},
				{"CronJob/nightly", "system:serviceaccount:kube-system:cronjob-controller", false, false},
				{"CronJob/nightly", "system:kube-controller-manager", false, false},
			} {
				wanted := want[i]
				if wanted == "enforce" && !test.denied || wanted != "enforce" && !test.told {
					wanted = ""
				}
				checkModes(t, p, test.owner, test.user, fmt.Sprintf("mode %s, workloads %q", mode, workloads), wanted)
			}
		}
	}
}

// checkModes evaluates the creation of a workload, and an update that does not change its template.
func checkModes(t *testing.T, p *Policy, owner, user, name, want string) {
	t.Helper()
	w := workload(template("quay.io/evil/x:1"))
	w.Owner = owner
	a := createWorkload
	a.User = user
	name = fmt.Sprintf("%s, owner %q, by %s", name, owner, user)
	if got := modesOf(must(Workloads.Evaluate(p, a, w, nil, nil))); got != want {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
	if want != "" {
		want = "audit"
	}
	a.Operation = object.Update
	if got := modesOf(must(Workloads.Evaluate(p, a, w, w, nil))); got != want {
		t.Errorf("%s, as it was before: got %q, want %q", name, got, want)
	}
}

// modesPolicy has one rule, which has one finding in quay.io/evil/x:1.
func modesPolicy(mode, workloads string) string {
	if workloads != "" {
		workloads = "workloads: " + workloads + ", "
	}
	return "pods:\n- {name: r, mode: " + mode + ", " + workloads + "images: {denied: [quay.io/evil]}}\n"
}

func modesOf(findings []Finding) string {
	var modes []string
	for _, f := range findings {
		modes = append(modes, f.Mode.String())
	}
	return strings.Join(modes, " ")
}

// The findings that an update introduces, over all templates of the object.
func TestRatchetOfWorkloads(t *testing.T) {
	p := mustLoad(t, "pods:\n- {name: r, mode: enforce, workloads: enforce, exclude: {podLabels: [legacy]}, "+
		"images: {denied: [quay.io/evil], deniedTags: [latest]}}\n")
	update := createWorkload
	update.Operation = object.Update
	const good, bad, other = "ghcr.io/a/a:1", "quay.io/evil/a:1", "quay.io/evil/b:1"
	legacy := template(bad)
	legacy.Labels = map[string]string{"legacy": ""}
	initial := template(good)
	initial.Images = append(initial.Images, object.Image{Place: object.InitContainers, Index: 0, Name: "init", Ref: bad, PullPolicy: ""})
	volume := template(good)
	volume.Images = append(volume.Images, object.Image{Place: object.Volumes, Index: 3, Name: "model", Ref: bad, PullPolicy: ""})
	elsewhere := template(bad)
	elsewhere.Path = "spec.jobs[0].template.spec"
	for name, test := range map[string]struct {
		old, obj *object.Workload
		want     string // the modes
	}{
		"nothing changes":                 {workload(template(bad)), workload(template(bad)), "audit"},
		"containers in another order":     {workload(template(good, bad)), workload(template(bad, good)), "audit"},
		"templates in another order":      {workload(template(good), template(bad)), workload(template(bad), template(good)), "audit"},
		"to an init container":            {workload(template(bad)), workload(initial), "audit"},
		"from an init container":          {workload(initial), workload(template(bad)), "audit"},
		"to a volume":                     {workload(template(bad)), workload(volume), "audit"},
		"to another template":             {workload(template(bad)), workload(elsewhere), "audit"},
		"a copy of it in a new template":  {workload(template(bad)), workload(template(bad), elsewhere), "audit audit"},
		"a new template with another one": {workload(template(bad)), workload(template(bad), template(other)), "audit enforce"},
		"another image":                   {workload(template(bad)), workload(template(other)), "enforce"},
		"another tag of the image":        {workload(template(bad)), workload(template("quay.io/evil/a:2")), "enforce"},
		"another spelling of the image":   {workload(template("quay.io:443/evil/a:1")), workload(template(bad)), "audit"},
		"to a digest of the image":        {workload(template(bad)), workload(template("quay.io/evil/a:1@" + digest256)), "enforce"},
		"another check":                   {workload(template(bad)), workload(template("quay.io/evil/a:latest")), "enforce enforce"},
		"a label that ends an exclude":    {workload(legacy), workload(template(bad)), "enforce"},
		"a label that excludes":           {workload(template(bad)), workload(legacy), ""},
		"one that is fixed":               {workload(template(bad, other)), workload(template(good, other)), "audit"},
		"a template where none was":       {workload(), workload(template(bad)), "enforce"},
		"no template any more":            {workload(template(bad)), workload(), ""},
	} {
		found := must(Workloads.Evaluate(p, update, test.obj, test.old, nil))
		if got := modesOf(found); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		for _, f := range found {
			if f.Existed != (f.Mode == Audit) || f.Warns() {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}
