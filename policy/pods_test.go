package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// podsRule is a policy with hubText's mirrors and one pods entry with the given images block.
func podsRule(t testing.TB, images string, more ...string) *Policy {
	t.Helper()
	return mustLoad(t, hubText+"pods:\n- name: r\n  mode: enforce\n  images: "+images+"\n  "+strings.Join(more, "\n  ")+"\n")
}

// imageCase is an image and the rest of the sentence about it after "r/…: spec.containers[0].image: ". The sentence is
// empty if the image passes.
type imageCase struct{ rule, image, want string }

func testImages(t *testing.T, check string, cases []imageCase) {
	t.Helper()
	for _, c := range cases {
		findings := must(Pods.Evaluate(podsRule(t, c.rule), createPod, imagePod(c.image), nil, nil))
		var got []string
		for _, f := range findings {
			got = append(got, strings.TrimPrefix(f.String(), "r/"+check+": spec.containers[0].image: "))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.rule, c.image, strings.Join(got, "\n"), c.want)
		}
	}
}

func TestPodsErrors(t *testing.T) {
	for images, want := range map[string]string{
		"{}":                                  `p:6:11: pods[0].images: checks nothing: write at least one of from, allowed, denied, deniedTags, digest, qualified, pullPolicies`,
		"{denied: []}":                        `p:6:20: pods[0].images.denied: [] denies nothing: leave the field out`,
		"{deniedTags: []}":                    `p:6:24: pods[0].images.deniedTags: [] denies nothing: leave the field out`,
		"{from: mirror}":                      `p:6:18: pods[0].images.from: "mirror" is not known here: write mirrors, or leave the field out`,
		"{digest: yes}":                       `p:6:20: pods[0].images.digest: "yes" is not known here: write required, or leave the field out`,
		"{allowed: ~}":                        `p:6:21: pods[0].images.allowed: null is not a value: leave the field out to leave it unchecked, or write a list (the empty one is [])`,
		"{allow: [x]}":                        `p:6:12: pods[0].images.allow: unknown field; did you mean allowed?`,
		"{pullPolicies: {}}":                  `p:6:26: pods[0].images.pullPolicies: checks nothing: write allowed or required`,
		"{pullPolicies: {allowed: [always]}}": `p:6:37: pods[0].images.pullPolicies.allowed[0]: "always" is not a pull policy: write Always, IfNotPresent or Never`,
		"{pullPolicies: {required: []}}":      `p:6:37: pods[0].images.pullPolicies.required: [] checks nothing: leave the field out`,
		"{pullPolicies: {required: [{images: [a.b]}]}}": `p:6:38: pods[0].images.pullPolicies.required[0]: policy is required`,
		"{denied: [nginx]}": `p:6:21: pods[0].images.denied[0]: "nginx" has no registry: ` +
			`write docker.io/library/nginx`,
		"{digest: required}\n  exclude: {groups: [x]}": `p:7:12: pods[0].exclude: groups has no meaning here: Pods are created by controllers, not by people; use namespaces or podLabels`,
		"{digest: required}\n  match: {images: [a.example]}": `p:7:10: pods[0].match: images has no meaning in match: ` +
			`other fields of the entry select its images`,
	} {
		_, err := Load(policyFile("p", "pods:\n- name: r\n  mode: enforce\n  images: "+images+"\n"))
		if err == nil {
			t.Errorf("%s: no error", images)
		} else if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s: %s", images, diff)
		}
	}
	if _, err := Load(policyFile("p", "pods:\n- {name: r, mode: audit}\n")); err == nil || err.Error() != "p:4:3: pods[0]: images is required" {
		t.Errorf("got %v", err)
	}
}

// All findings are reported together, in the order of the checks and then of the images.
func TestPodsFindings(t *testing.T) {
	p := podsRule(t, "{from: mirrors, denied: [quay.io/evil], deniedTags: [latest], digest: required}", "message: ask the platform team")
	pod := &object.Pod{Images: []object.Image{
		{Place: object.Containers, Index: 0, Name: "a", Ref: "m.example/hub/library/nginx@" + digest256, PullPolicy: ""},
		{Place: object.InitContainers, Index: 1, Name: "b", Ref: "quay.io/evil/x", PullPolicy: ""},
		{Place: object.Volumes, Index: 2, Name: "c", Ref: "quay.io/data", PullPolicy: ""},
	}}
	var got []string
	for _, f := range must(Pods.Evaluate(p, createPod, pod, nil, nil)) {
		got = append(got, f.String()+" → "+offender(rule.IdentityOf(f)))
	}
	want := []string{
		`r/images.from: spec.initContainers[1].image: "quay.io/evil/x" is not pulled from a mirror, because r/images.denied denies it (ask the platform team) → quay.io/evil/x`,
		`r/images.from: spec.volumes[2].image.reference: "quay.io/data" is not pulled from a mirror, because r/images.deniedTags denies it (ask the platform team) → quay.io/data`,
		`r/images.denied: spec.initContainers[1].image: "quay.io/evil/x" is denied by quay.io/evil (ask the platform team) → quay.io/evil/x`,
		`r/images.deniedTags: spec.initContainers[1].image: "quay.io/evil/x" has neither tag nor digest, which means latest, and that is denied (ask the platform team) → quay.io/evil/x`,
		`r/images.deniedTags: spec.volumes[2].image.reference: "quay.io/data" has neither tag nor digest, which means latest, and that is denied (ask the platform team) → quay.io/data`,
		`r/images.digest: spec.initContainers[1].image: "quay.io/evil/x" has no digest; write quay.io/evil/x@sha256:<digest> (ask the platform team) → quay.io/evil/x`,
		`r/images.digest: spec.volumes[2].image.reference: "quay.io/data" has no digest; write quay.io/data@sha256:<digest> (ask the platform team) → quay.io/data`,
	}
	equal(t, want, got)
}

func TestPodsSelectors(t *testing.T) {
	p := podsRule(t, "{digest: required}", "match: {namespaces: [team-*]}",
		"exclude: {images: [docker.io/acme], podLabels: [keep=yes]}")
	for _, test := range []struct {
		namespace, label, image string
		findings                int
	}{
		{"team-a", "", "nginx", 1},
		{"default", "", "nginx", 0},
		{"team-a", "yes", "nginx", 0},
		{"team-a", "", "acme/x", 0},
		{"team-a", "", "acme-evil/x", 1},
	} {
		pod := imagePod(test.image)
		pod.Labels = map[string]string{"keep": test.label}
		a := createPod
		a.Namespace = test.namespace
		if got := len(must(Pods.Evaluate(p, a, pod, nil, nil))); got != test.findings {
			t.Errorf("%+v: got %d", test, got)
		}
		if traces := Pods.Explain(p, a, pod); len(traces) != 1 || traces[0].Findings != test.findings {
			t.Errorf("%+v: %+v", test, traces)
		}
	}
}

// Only introduced findings deny an update, and another spelling of an image does not introduce a finding.
func TestPodsRatchet(t *testing.T) {
	p := podsRule(t, "{from: mirrors, deniedTags: [latest], digest: required}")
	update := object.Attributes{Operation: object.Update, Namespace: "default"}
	for _, test := range []struct {
		name     string
		old, now []string
		news     int // findings that are new
		all      int
	}{
		{"nothing changed", []string{"nginx:1"}, []string{"nginx:1"}, 0, 2},
		{"reordered", []string{"nginx:1", "redis:2"}, []string{"redis:2", "nginx:1"}, 0, 4},
		{"written otherwise", []string{"nginx:1"}, []string{"docker.io/library/nginx:1"}, 0, 2},
		{"one more of the same", []string{"nginx:1"}, []string{"nginx:1", "nginx:1"}, 0, 4},
		{"exchanged for another", []string{"nginx:1"}, []string{"nginx:2"}, 2, 2},
		{"another fault on top", []string{"nginx:1"}, []string{"nginx"}, 3, 3},
		{"fixed by half", []string{"nginx"}, []string{"m.example/hub/library/nginx"}, 2, 2},
		{"malformed before", []string{"Nginx"}, []string{"Nginx"}, 0, 3},
		{"malformed now", []string{"nginx:1"}, []string{"Nginx"}, 3, 3},
		{"with the port written out", []string{"quay.io/x:1"}, []string{"QUAY.io:443/x:1"}, 0, 2},
		{"an ID", []string{"nginx:1"}, []string{"sha256:12ab"}, 3, 3},
		{"an ID as before", []string{"sha256:12ab"}, []string{"sha256:12ab"}, 0, 3},
	} {
		news := 0
		findings := must(Pods.Evaluate(p, update, imagePod(test.now...), imagePod(test.old...), nil))
		for _, f := range findings {
			if f.Denies() {
				news++
			}
		}
		if news != test.news || len(findings) != test.all {
			t.Errorf("%s: %d of %d are new, want %d of %d", test.name, news, len(findings), test.news, test.all)
		}
	}
}

// Subresources that cannot change an image are never evaluated.
func TestPodsImmutableImages(t *testing.T) {
	p := podsRule(t, "{allowed: []}")
	status := createPod
	status.Subresource = "status"
	if f := must(Pods.Evaluate(p, status, imagePod("nginx"), nil, nil)); f != nil {
		t.Errorf("evaluated: %v", f)
	}
	want := []RuleTrace{{Rule: "r", Mode: Enforce, Why: "not evaluated: the request cannot change an image"}}
	equal(t, want, Pods.Explain(p, status, imagePod("nginx")))
}

// No field that the author of a Pod writes exempts the Pod from rules for its images, nor the template of a workload.
func TestNoPodExemptsItself(t *testing.T) {
	p := mustLoad(t, hubText+"\npods: [{name: r, mode: enforce, workloads: enforce, images: {denied: [quay.io]}}]")
	for name, change := range map[string]func(*object.Meta){
		"a mirror Pod":         func(m *object.Meta) { m.Annotations["kubernetes.io/config.mirror"] = "x" },
		"rewritten already":    func(m *object.Meta) { m.Annotations["evergate.dev/original-images"] = `{"containers/c0":"quay.io/x"}` },
		"a template of Istio":  func(m *object.Meta) { m.Annotations["inject.istio.io/templates"] = "gateway" },
		"of a controller":      func(m *object.Meta) { m.Owner = "ReplicaSet/x" },
		"a solver":             func(m *object.Meta) { m.Labels["acme.cert-manager.io/http01-solver"] = "true" },
		"without an admission": func(m *object.Meta) { m.Labels["evergate.dev/admission"] = "disabled" },
	} {
		pod := imagePod("quay.io/x", "nginx")
		pod.Annotations, pod.Labels = map[string]string{}, map[string]string{}
		change(&pod.Meta)
		if f := must(Pods.Evaluate(p, createPod, pod, nil, nil)); len(f) != 1 || !f[0].Denies() {
			t.Errorf("%s: the Pod has %v", name, sentences(f))
		}
		if out := must(p.RewritePod(createPod, pod, nil, nil)).Images[1].Outcome; out != Rewritten {
			t.Errorf("%s: the image is %v", name, out)
		}
		w := template("quay.io/x")
		w.Meta = pod.Meta
		if f := must(Workloads.Evaluate(p, createWorkload, workload(w), nil, nil)); len(f) != 1 || !f[0].Denies() {
			t.Errorf("%s: the workload has %v", name, sentences(f))
		}
	}
}

// A registry or path does not pass because it has an allowed one as a prefix.
func TestPodsNameWithCommonPrefix(t *testing.T) {
	for _, place := range []string{"ghcr.io/acme", "ghcr.io", "m.example/hub", "m.example", "m.example:5000", "localhost", "docker.io/library"} {
		rules := map[string]*Policy{
			"allowed": podsRule(t, "{allowed: ['"+place+"']}"),
			"beneath": podsRule(t, "{allowed: ['"+place+"/*']}"),
		}
		if place == "m.example/hub" {
			rules["from"] = podsRule(t, "{from: mirrors}")
		}
		for name, p := range rules {
			if f := must(Pods.Evaluate(p, createPod, imagePod(place+"/a", place+"/a/b:1"), nil, nil)); len(f) != 0 {
				t.Errorf("%s %s: %v", name, place, f)
			}
			for _, more := range []string{"-evil", "evil", ".evil", ".evil.example", "0", "_x", "__x", ":5000", ":50001", "-/x", "@x", "%2f", "\\", "?"} {
				for _, rest := range []string{"/a", "/a/b:1", "/a@" + digest256} {
					image := place + more + rest
					if f := must(Pods.Evaluate(p, createPod, imagePod(image), nil, nil)); len(f) == 0 {
						t.Errorf("%s %s lets %s pass", name, place, image)
					}
				}
			}
		}
	}
}
