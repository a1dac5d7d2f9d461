package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

const deniedText = hubText + `
- {name: ghcr, mode: enforce, sources: [ghcr.io], mirror: m.example/ghcr}
pods:
- {name: evil, mode: enforce, images: {denied: [docker.io/evil, quay.io/evil]}}
- {name: tags, mode: enforce, images: {deniedTags: [dev-*]}, exclude: {images: [m.example/ghcr, ghcr.io/free]}}
- {name: some, mode: enforce, images: {denied: [docker.io/some]}, match: {namespaces: [strict], podLabels: [watched]}, exclude: {podLabels: [free]}}
- {name: told, mode: warn, images: {denied: [docker.io/told, m.example/hub/told/both]}, message: ask us}
- {name: noted, mode: audit, images: {denied: [docker.io/noted]}}
- {name: never, mode: 'off', images: {denied: [docker.io]}}
- {name: other, mode: enforce, images: {digest: required, allowed: []}, match: {namespaces: [locked]}}
`

// If a rule in mode enforce denies an image as it is written, the image is not rewritten, and then it is denied.
func TestDeniedIsNotRewritten(t *testing.T) {
	p := mustLoad(t, deniedText)
	for _, test := range []struct {
		namespace, label, image string
		want                    Outcome
		why                     string
	}{
		{"default", "", "evil/x:1", Denied, "not rewritten by mirrors entry hub: evil/images.denied: is denied by docker.io/evil"},
		{"default", "", "DOCKER.io:443/evil/x", Denied, "not rewritten by mirrors entry hub: evil/images.denied: is denied by docker.io/evil"},
		{"default", "", "evil", Denied, "not rewritten by mirrors entry hub: evil/images.denied: is denied by docker.io/evil"},
		{"default", "", "evil-not/x", Rewritten, ""},
		{"default", "", "quay.io/evil", Denied, "not rewritten by mirrors entry quay: evil/images.denied: is denied by quay.io/evil"}, // mode warn
		{"default", "", "quay.io/x", WouldRewrite, ""},
		{"default", "", "ghcr.io/x:dev-1", Denied, "not rewritten by mirrors entry ghcr: tags/images.deniedTags: has the tag dev-1, and that is denied by dev-*"},
		{"default", "", "ghcr.io/free:dev-1", Rewritten, ""},
		{"default", "", "ghcr.io/x:1", Rewritten, ""},
		{"default", "", "m.example/ghcr/x:dev-1", AtMirror, ""},
		{"default", "watched", "some/x", Rewritten, ""},
		{"strict", "watched", "some/x", Denied, "not rewritten by mirrors entry hub: some/images.denied: is denied by docker.io/some"},
		{"strict", "", "some/x", Rewritten, ""},
		{"strict", "free", "some/x", Rewritten, ""},
		{"locked", "", "nginx", Rewritten, ""}, // only denied and deniedTags are checked
		{"default", "", "told/x", Rewritten, ""},
		{"default", "", "noted/x", Rewritten, ""},
	} {
		a := createPod
		a.Namespace = test.namespace
		for _, place := range []object.Place{object.Containers, object.InitContainers, object.EphemeralContainers, object.Volumes} {
			if a.Subresource = ""; place == object.EphemeralContainers {
				a.Subresource = "ephemeralcontainers"
			}
			pod := imagePod(test.image)
			pod.Images[0].Place = place
			pod.Labels = map[string]string{test.label: ""}
			if test.label == "free" {
				pod.Labels["watched"] = ""
			}
			rw := must(p.RewritePod(a, pod, nil, nil))
			out := rw.Images[0]
			if out.Outcome != test.want || out.Outcome == Denied && (out.Why() != test.why || out.To != "" || rw.Changes() || rw.Record != "") {
				t.Errorf("%+v: %s: %s %s: %s", test, place, out.Outcome, out.To, out.Why())
			}
			denied := false
			for _, f := range must(Pods.Evaluate(p, a, pod, nil, nil)) {
				denied = denied || f.Denies() && f.Rule != "other"
			}
			if denied != (test.want == Denied) && out.Outcome != Rewritten {
				t.Errorf("%+v: %s: denied %t", test, place, denied)
			}
		}
	}
}

// Rules in mode warn and audit do not prevent rewriting, and their findings are reported once.
func TestDeniedInWarn(t *testing.T) {
	p := mustLoad(t, deniedText)
	rw := must(p.RewritePod(createPod, imagePod("told/x", "told/both", "noted/x", "nginx", "m.example/hub/told/x", "evil/x"), nil, nil))
	want := []string{
		`warn told/images.denied: spec.containers[0].image: "told/x" is denied by docker.io/told, but not after it is rewritten to m.example/hub/told/x (ask us)`,
		`audit noted/images.denied: spec.containers[2].image: "noted/x" is denied by docker.io/noted, but not after it is rewritten to m.example/hub/noted/x`,
	}
	var got []string
	for _, f := range rw.Findings {
		got = append(got, f.Mode.String()+" "+f.String())
	}
	equal(t, want, got)
	for i, want := range []Outcome{Rewritten, Rewritten, Rewritten, Rewritten, AtMirror, Denied} {
		if rw.Images[i].Outcome != want {
			t.Errorf("%s: %s, want %s", rw.Images[i].Image.Ref, rw.Images[i].Outcome, want)
		}
	}
	pod := imagePod()
	for range 3 * rule.MaxFindings {
		pod.Images = append(pod.Images, object.Image{Ref: "told/x"})
	}
	if n := len(must(p.RewritePod(createPod, pod, nil, nil)).Findings); n != rule.MaxFindings {
		t.Errorf("%d findings", n)
	}
}

// If a rule in mode warn and a rule in mode enforce have findings about the same original image, each finding appears
// once, for every order of the rules.
func TestDeniedByTwoRules(t *testing.T) {
	const told, evil = "- {name: told, mode: warn, images: {denied: [docker.io/evil]}}\n",
		"- {name: evil, mode: enforce, images: {denied: [docker.io/evil]}}\n"
	for _, rules := range []string{told + evil, evil + told} {
		p := mustLoad(t, hubText+"pods:\n"+rules)
		pod := imagePod("evil/x")
		got := map[string]int{}
		for _, f := range append(must(p.RewritePod(createPod, pod, nil, nil)).Findings, must(Pods.Evaluate(p, createPod, pod, nil, nil))...) {
			got[f.Rule+" "+f.Mode.String()]++
		}
		equal(t, map[string]int{"told warn": 1, "evil enforce": 1}, got, rules)
	}
}

// An update does not rewrite images that it does not change. A pre-existing finding does not prevent rewriting, because
// the validating webhook would not deny the image.
func TestDeniedOnUpdate(t *testing.T) {
	p := mustLoad(t, deniedText)
	update := object.Attributes{Operation: object.Update, Namespace: "strict", Resource: "pods"}
	labelled := func(label string, images ...string) *object.Pod {
		pod := imagePod(images...)
		pod.Labels = map[string]string{label: ""}
		return pod
	}
	for name, test := range map[string]struct {
		old, pod *object.Pod
		want     Outcome // of the last image
	}{
		"unchanged":             {imagePod("evil/x"), imagePod("evil/x"), Unchanged},
		"changed":               {imagePod("nginx"), imagePod("evil/x"), Denied},
		"another of them":       {imagePod("evil/x"), imagePod("evil/y"), Denied},
		"the same elsewhere":    {imagePod("evil/x", "nginx"), imagePod("evil/x", "docker.io/evil/x"), Rewritten},
		"told before, and now":  {labelled("watched", "some/x", "nginx"), labelled("watched", "some/x", "some/x"), Rewritten},
		"not told of before":    {labelled("other", "some/x", "nginx"), labelled("watched", "some/x", "some/x"), Denied},
		"at the mirror":         {imagePod("nginx"), imagePod("m.example/hub/evil/x"), AtMirror},
		"a malformed one there": {imagePod("Nginx", "nginx"), imagePod("Nginx", "evil/x"), Denied},
	} {
		images := must(p.RewritePod(update, test.pod, test.old, nil)).Images
		out := images[len(images)-1]
		if out.Outcome != test.want {
			t.Errorf("%s: %s, want %s", name, out.Outcome, test.want)
		}
		if out.Outcome != Denied {
			continue
		}
		denies := false
		for _, f := range must(Pods.Evaluate(p, update, test.pod, test.old, nil)) {
			denies = denies || f.Denies()
		}
		if !denies {
			t.Errorf("%s: not rewritten and not denied", name)
		}
	}
}

// For any policy that loads, the validating webhook denies an image that is not rewritten because it is denied, and no
// image that is pulled from a mirror was denied as it was written.
func TestDeniedProperties(t *testing.T) {
	r := newRandomWords(3, 4)
	denied, rewritten := 0, 0
	for range 2_500 {
		text := "mirrors:\n"
		for i := range 1 + r.IntN(3) {
			text += r.entry(i)
		}
		text += "pods:\n- {name: d, mode: enforce, images: {denied: ['" + r.place() + "', '" + r.place() + "']}}\n"
		p, err := Load(policyFile("p", text))
		if err != nil {
			continue
		}
		for range 20 {
			pod := imagePod(r.place() + "/" + r.pick("a", "b", "x", "x:1"))
			out := must(p.RewritePod(createPod, pod, nil, nil)).Images[0]
			denies := len(must(Pods.Evaluate(p, createPod, pod, nil, nil))) > 0
			switch out.Outcome {
			case Rewritten:
				rewritten++
			case Denied:
				denied++
			default:
				continue
			}
			if denies != (out.Outcome == Denied) {
				t.Fatalf("%s is %s, and as it is written denied: %t\n%s", pod.Images[0].Ref, out.Outcome, denies, text)
			}
		}
	}
	if denied < 100 || rewritten < 100 {
		t.Errorf("only %d images were denied and %d rewritten: this proves little", denied, rewritten)
	}
}

func TestWarnings(t *testing.T) {
	const mirrors = hubText + `- {name: wild, mode: audit, sources: ["*.gcr.io"], mirror: "m.example/{registry}"}
- {name: team, mode: enforce, sources: [ghcr.io/team], mirror: "m.example:443/team", exclude: {images: [ghcr.io/team/own]}}
- {name: blue, mode: enforce, sources: [lscr.io], mirror: m.example/blue, match: {namespaces: [blue]}}
- {name: rest, mode: enforce, sources: [lscr.io], mirror: m.example/rest}
`
	line := func(denied, entry, at string) string {
		return "policy.yaml:12:3: pods[0]: images.denied has " + denied + ", and mirrors entry " + entry + " has it at " + at +
			": an image written like that is not denied; deny " + at + " too"
	}
	for denied, want := range map[string][]string{
		"docker.io/evil":                     {line("docker.io/evil", "hub", "m.example/hub/evil")},
		"docker.io/evil, m.example/hub/evil": {line("docker.io/evil", "hub", "m.example/hub/library/evil")},
		"docker.io/evil, m.example/hub/evil, m.example/hub/library/evil":       nil,
		"docker.io/evil/x, m.example/hub":                                      nil,
		"docker.io/evil/x, m.example:443/hub/evil/x":                           nil,
		"docker.io/evil/*, m.example/hub/evil/*, m.example/hub/library/evil/*": nil,
		"docker.io/a/b/*":                      {line("docker.io/a/b/*", "hub", "m.example/hub/a/b/*")},
		"docker.io/a/b:1":                      {line("docker.io/a/b:1", "hub", "m.example/hub/a/b:1")},
		"docker.io/a/b:1, m.example/hub/a/b:1": nil,
		"docker.io/a/b:1, m.example/hub/a/b:2": {line("docker.io/a/b:1", "hub", "m.example/hub/a/b:1")},
		"docker.io":                            {line("docker.io", "hub", "m.example/hub")},
		"quay.io/a/b":                          {line("quay.io/a/b", "quay", "m.example/quay/a/b")},
		"eu.gcr.io/x/y":                        {line("eu.gcr.io/x/y", "wild", "m.example/eu.gcr.io/x/y")},
		"ghcr.io":                              {line("ghcr.io", "team", "m.example/team")},
		"ghcr.io/*":                            {line("ghcr.io/*", "team", "m.example/team")},
		"ghcr.io/team/own/x":                   nil, // it is not rewritten
		"ghcr.io/other, m.example/hub/x, reg:5000":  nil,
		"lscr.io/x, m.example/rest":                 {line("lscr.io/x", "blue", "m.example/blue/x")},
		"lscr.io/x, m.example/rest, m.example/blue": nil,
	} {
		p := mustLoad(t, mirrors+"pods:\n- {name: r, mode: audit, images: {denied: ["+quoteAll(denied)+"]}}\n")
		equal(t, want, p.Warnings(), denied)
	}
	off := mustLoad(t, mirrors+"pods:\n- {name: r, mode: 'off', images: {denied: [docker.io/evil]}}\n")
	if w := off.Warnings(); len(w) > 0 {
		t.Errorf("of an entry that is off: %s", w)
	}
}

func quoteAll(list string) string { return "'" + strings.ReplaceAll(list, ", ", "', '") + "'" }

// The cost of warnings is limited, for any number of mirrors of a source and any number of denied places.
func TestWarningsAreBounded(t *testing.T) {
	const n = 2_000
	mirrors, denied := "mirrors:\n", "m.example"
	for i := range n {
		mirrors += fmt.Sprintf("- {name: e%d, mode: enforce, sources: [docker.io], mirror: m.example/%[1]d, match: {namespaces: [t%[1]d]}}\n", i)
		denied += fmt.Sprintf(", docker.io/x/%d", i)
	}
	p := mustLoad(t, mirrors+"pods:\n- {name: r, mode: enforce, images: {denied: ["+denied+"]}}\n")
	equal(t, []string{"and there may be more of these"}, p.Warnings())
	p = mustLoad(t, mirrors+"pods:\n- {name: r, mode: enforce, images: {denied: ["+strings.TrimPrefix(denied, "m.example, ")+"]}}\n")
	if w := p.Warnings(); len(w) != rule.MaxWarnings+1 || w[rule.MaxWarnings] != "and there may be more of these" {
		t.Errorf("%d warnings, the last: %s", len(w), w[len(w)-1])
	}
}
