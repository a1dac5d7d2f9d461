package export

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy"
)

var update = flag.Bool("update", false, "write the goldens")

// describe returns the entries of a valid policy.
func describe(t *testing.T, text string) policy.Document {
	t.Helper()
	doc, err := policy.Describe(policy.File{
		Name: "policy.yaml", Data: []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + text),
	})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// A part that cannot be exported exactly is omitted, with file, line, field, reason and solution.
func TestOmissions(t *testing.T) {
	for name, test := range map[string]struct {
		text    string
		options Options
		want    []string
	}{
		"from without map": {
			`pods: [{name: p, mode: enforce, images: {from: mirrors}}]`, Options{Targets: []Target{VAP}},
			[]string{
				"policy.yaml:3:8: pods[0].images.from: without the policy that rewrites images, it denies every Pod " +
					"if no replica is running: export both with --target vap,map (Kubernetes 1.36), or accept this with " +
					"--deny-unrewritten",
			},
		},
		"from with map": {`pods: [{name: p, mode: enforce, images: {from: mirrors}}]`,
			Options{Targets: []Target{VAP, MAP}}, nil},
		"from that is meant": {`pods: [{name: p, mode: enforce, images: {from: mirrors}}]`,
			Options{Targets: []Target{VAP}, DenyUnrewritten: true}, nil},
		"off": {`owners: [{name: p, mode: "off", hosts: [a.example], namespaces: [x]}]`,
			Options{Targets: []Target{VAP}}, nil},
		"a block": {`owners: [{name: p, mode: audit, hosts: [a.example], namespaces: [x]}]`,
			Options{Targets: []Target{VAP}},
			[]string{
				"policy.yaml:3:10: owners[0]: entries of owners are not supported natively: leave the entry to the " +
					"webhook, with --best-effort",
			}},
		"a block of no target": {`owners: [{name: p, mode: audit, hosts: [a.example], namespaces: [x]}]`,
			Options{Targets: []Target{MAP}}, nil},
		"fields": {`services:
- {name: s, mode: warn, until: 2030-01-01, hosts: {allowed: []}, externalNames: {}, ports: {allowed: []}}
ingresses:
- {name: i, mode: enforce, exclude: {namespaces: [x], until: 2030-01-01, reason: y}, ingressNginx: {maxRisk: Medium}, paths: {unsafeCharacters: deny}}
- {name: set, mode: enforce, match: {set: edge}, tls: {required: true}}
`, Options{Targets: []Target{VAP}}, []string{
			"policy.yaml:6:3: ingresses[0].exclude.until: it ends on 2030-01-01, and CEL has no clock: export " +
				"again after that, or leave the entry to the webhook, with --best-effort",
			"policy.yaml:6:3: ingresses[0].ingressNginx.maxRisk: the API server does not have the table of risky " +
				"ingress-nginx annotations: leave the entry to the webhook, with --best-effort",
			"policy.yaml:7:3: ingresses[1].match.set: the webhook path selects the rule set: leave rule sets to " +
				"the webhook, with --best-effort",
			"policy.yaml:4:3: services[0].externalNames: the API server does not have a list of public top-level " +
				"domains: leave the entry to the webhook, with --best-effort",
			"policy.yaml:4:3: services[0].until: it ends on 2030-01-01, and CEL has no clock: export again after " +
				"that, or leave the entry to the webhook, with --best-effort",
		}},
		"hosts": {`ingresses:
- {name: i, mode: enforce, hosts: {required: true}}
- {name: some, mode: enforce, match: {namespaces: [x]}, annotations: {denied: ["alb.ingress.kubernetes.io/*"]}}
`, Options{Targets: []Target{VAP}}, []string{
			"policy.yaml:4:3: ingresses[0].hosts: CEL cannot read the hosts in the annotation " +
				"alb.ingress.kubernetes.io/conditions.*: deny it in an entry in mode enforce, without match and " +
				`exclude: annotations: {denied: ["alb.ingress.kubernetes.io/conditions.*"]}, or leave the entry to ` +
				"the webhook, with --best-effort",
		}},
		"hosts that are read": {`ingresses:
- {name: i, mode: enforce, hosts: {required: true}}
- {name: all, mode: enforce, annotations: {denied: ["alb.ingress.kubernetes.io/*"]}}
`, Options{Targets: []Target{VAP}}, nil},
		"routes": {`routes:
- {name: all, mode: enforce, hosts: {required: true}}
- {name: listed, mode: enforce, kinds: [HTTPRoute], hosts: {required: true}}
- {name: openshift, mode: enforce, kinds: [Route], hosts: {required: true}}
`, Options{Targets: []Target{VAP}}, []string{
			"policy.yaml:4:3: routes[0].kinds: OpenShift Routes are not supported natively: list only Gateway " +
				"API kinds, or leave the entry to the webhook, with --best-effort",
			"policy.yaml:6:3: routes[2].kinds: OpenShift Routes are not supported natively: leave the entry to " +
				"the webhook, with --best-effort",
		}},
		"mirrors": {`mirrors:
- {name: hub, mode: warn, sources: [docker.io], mirror: m.example/hub}
- {name: google, mode: enforce, sources: ["*.gcr.io"], mirror: "m.example/{registry}"}
pods:
- {name: from, mode: enforce, images: {from: mirrors}}
- {name: tags, mode: warn, images: {deniedTags: [latest]}}
`, Options{Targets: []Target{VAP, MAP}}, []string{
			"policy.yaml:8:3: pods[1].mode: the rule is about original images and is in mode warn, and a mutating policy " +
				"cannot warn, so the export leaves out mirrors google, pods from: set it to mode enforce, or leave the entries " +
				"to the webhook, with --best-effort",
			"policy.yaml:4:3: mirrors[0].mode: a mutating policy cannot warn, so the export also leaves out pods from: leave " +
				"the entry to the webhook until it is in mode enforce, with --best-effort",
			"policy.yaml:5:3: mirrors[1].sources: the wildcard *.gcr.io is not supported natively, so the export also leaves " +
				"out pods from: list the registries, or leave the entries to the webhook, with --best-effort",
		}},
		"mirrors that end, for nodes": {`mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub, exclude: {namespaces: [a], until: 2030-01-01, reason: r}}
pods: [{name: from, mode: enforce, images: {from: mirrors}}]
`, Options{Targets: []Target{VAP}, DenyUnrewritten: true}, []string{
			"policy.yaml:4:3: mirrors[0].exclude.until: it ends on 2030-01-01, and CEL has no clock, so the " +
				"export leaves out pods from: export again after that, or leave the entry to the webhook, with " +
				"--best-effort",
		}},
		"a mirror that ends": {`mirrors:
- {name: hub, mode: warn, sources: [docker.io], mirror: m.example/hub, until: 2030-01-01}
pods:
- {name: from, mode: enforce, images: {from: mirrors}}
`, Options{Targets: []Target{VAP, MAP}}, []string{
			"policy.yaml:4:3: mirrors[0].until: it ends on 2030-01-01, and CEL has no clock, so the export also " +
				"leaves out pods from: export again after that, or leave the entry to the webhook, with --best-effort",
			"policy.yaml:4:3: mirrors[0].mode: a mutating policy cannot warn, so the export also leaves out pods " +
				"from: leave the entry to the webhook until it is in mode enforce, with --best-effort",
		}},
		// Expressions cannot find images at the mirror of a wildcard.
		"mirrors that have ended": {`mirrors:
- {name: quay, mode: warn, sources: [quay.io], mirror: m.example/quay, until: 2030-01-01}
- {name: google, mode: warn, sources: ["*.gcr.io"], mirror: "m.example/{registry}", until: 2030-01-01}
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}
pods:
- {name: from, mode: enforce, images: {from: mirrors}}
- {name: tags, mode: enforce, images: {deniedTags: [latest]}}
`, Options{Targets: []Target{VAP, MAP}, Now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}, []string{
			"policy.yaml:5:3: mirrors[1].sources: the wildcard *.gcr.io is not supported natively, so the export " +
				"leaves out pods from: list the registries, or leave the entries to the webhook, with --best-effort",
		}},
		// Nothing is rewritten any more, so the rule does not have to be native.
		"a rule about originals, with a mirror that has ended": {`mirrors:
- {name: hub, mode: warn, sources: [docker.io], mirror: m.example/hub, until: 2030-01-01}
pods:
- {name: evil, mode: warn, images: {denied: [q.io/evil]}, exclude: {namespaces: [a], until: 2032-01-01, reason: r}}
`, Options{Targets: []Target{MAP}, Now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
		// After a native policy has rewritten an image, the webhook does not see the original image, which a rule
		// that is not native would deny.
		"a rule about originals, with an end": {`mirrors: [{name: m, mode: enforce, sources: [docker.io], mirror: m.example}]
pods:
- {name: evil, mode: enforce, images: {denied: [q.io/evil]}, exclude: {namespaces: [a], until: 2030-01-01, reason: r}}
`, Options{Targets: []Target{MAP}}, []string{
			"policy.yaml:5:3: pods[0].exclude.until: it ends on 2030-01-01, and CEL has no clock, so the export " +
				"also leaves out mirrors m: export again after that, or leave the entry to the webhook, with " +
				"--best-effort",
		}},
		"originals, with an exception": {`mirrors: [{name: m, mode: enforce, sources: [docker.io], mirror: m.example}]
pods: [{name: evil, mode: enforce, images: {denied: [docker.io/evil]}}]
exceptions: [{name: x, rules: [evil], match: {namespaces: [a]}, until: 2030-01-01, reason: r}]
`, Options{Targets: []Target{MAP}}, []string{
			"policy.yaml:5:14: exceptions[0]: it ends on 2030-01-01, and CEL has no clock, so the export leaves " +
				"out pods evil, mirrors m: export again after that, or leave the entries to the webhook, with " +
				"--best-effort",
		}},
		"two exceptions, and a rule that is never native": {`pods: [{name: p, mode: enforce, images: {digest: required}}]
owners: [{name: o, mode: audit, hosts: [a.example], namespaces: [x]}]
exceptions:
- {name: x, rules: [p], match: {namespaces: [a]}, until: 2030-01-01, reason: r}
- {name: y, rules: ["*"], match: {namespaces: [b]}, until: 2031-01-01, reason: r}
`, Options{Targets: []Target{VAP}}, []string{
			"policy.yaml:4:10: owners[0]: entries of owners are not supported natively: leave the entry to the " +
				"webhook, with --best-effort",
			"policy.yaml:6:3: exceptions[0]: it ends on 2030-01-01, and CEL has no clock, so the export leaves " +
				"out pods p: export again after that, or leave the entries to the webhook, with --best-effort",
			"policy.yaml:7:3: exceptions[1]: it ends on 2031-01-01, and CEL has no clock, so the export leaves " +
				"out pods p: export again after that, or leave the entries to the webhook, with --best-effort",
		}},
		// After the exclude has ended, other reasons prevent the export.
		"ends that are not the only reason": {`mirrors: [{name: m, mode: enforce, sources: ["*.gcr.io"], mirror: "m.example/{registry}"}]
pods:
- {name: from, mode: enforce, images: {from: mirrors}, exclude: {namespaces: [a], until: 2030-01-01, reason: r}}
- {name: evil, mode: warn, images: {denied: [q.io/evil]}, exclude: {namespaces: [a], until: 2030-01-01, reason: r}}
routes:
- {name: all, mode: enforce, hosts: {required: true}, exclude: {namespaces: [a], until: 2030-01-01, reason: r}}
services: [{name: s, mode: enforce, externalNames: {}, types: {denied: [NodePort]}}]
exceptions: [{name: x, rules: [s], match: {namespaces: [a]}, until: 2030-01-01, reason: r}]
`, Options{Targets: []Target{VAP, MAP}}, []string{
			"policy.yaml:5:3: pods[0].exclude.until: it ends on 2030-01-01, and CEL has no clock: export again " +
				"after that, or leave the entry to the webhook, with --best-effort",
			"policy.yaml:6:3: pods[1].exclude.until: it ends on 2030-01-01, and CEL has no clock, so the export " +
				"also leaves out mirrors m: export again after that, or leave the entry to the webhook, with " +
				"--best-effort",
			"policy.yaml:9:12: services[0].externalNames: the API server does not have a list of public " +
				"top-level domains: leave the entry to the webhook, with --best-effort",
			"policy.yaml:8:3: routes[0].exclude.until: it ends on 2030-01-01, and CEL has no clock: export again " +
				"after that, or leave the entry to the webhook, with --best-effort",
			"policy.yaml:8:3: routes[0].kinds: OpenShift Routes are not supported natively: list only Gateway " +
				"API kinds, or leave the entry to the webhook, with --best-effort",
			"policy.yaml:10:14: exceptions[0]: it ends on 2030-01-01, and CEL has no clock, so the export leaves " +
				"out services s: export again after that, or leave the entries to the webhook, with --best-effort",
			"policy.yaml:6:3: pods[1].mode: the rule is about original images and is in mode warn, and a " +
				"mutating policy cannot warn, so the export leaves out mirrors m: set it to mode enforce, or leave " +
				"the entries to the webhook, with --best-effort",
			"policy.yaml:3:11: mirrors[0].sources: the wildcard *.gcr.io is not supported natively: list the " +
				"registries, or leave the entries to the webhook, with --best-effort",
		}},
		"exceptions": {`pods: [{name: p, mode: enforce, images: {digest: required}}, {name: q, mode: enforce, images: ` +
			`{digest: required}}]
exceptions: [{name: ticket, rules: ["*p/*"], match: {namespaces: [x]}, until: 2030-01-01, reason: why}]
`, Options{Targets: []Target{VAP}}, []string{
			"policy.yaml:4:14: exceptions[0]: it ends on 2030-01-01, and CEL has no clock, so the export leaves " +
				"out pods p: export again after that, or leave the entries to the webhook, with --best-effort",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range Export(describe(t, test.text), test.options).Omissions {
				got = append(got, r.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Only an entry for all objects of a block denies an annotation in each of them.
func TestDenies(t *testing.T) {
	some := policy.Fields{"namespaces": []any{"x"}}
	for name, test := range map[string]struct {
		mode   policy.Mode
		field  string
		value  any
		denied string
		want   bool
	}{
		"all":             {policy.Enforce, "", nil, "a.example/key", true},
		"by a glob":       {policy.Enforce, "", nil, "a.example/*", true},
		"another":         {policy.Enforce, "", nil, "b.example/*", false},
		"some namespaces": {policy.Enforce, "match", some, "a.example/key", false},
		"not all":         {policy.Enforce, "exclude", some, "a.example/key", false},
		"some kinds":      {policy.Enforce, "kinds", []any{"Gateway"}, "a.example/key", false},
		"in mode warn":    {policy.Warn, "", nil, "a.example/key", false},
	} {
		e := policy.Entry{Block: "gateways", Name: "e", Mode: test.mode, Fields: policy.Fields{
			"annotations": policy.Fields{"denied": []any{test.denied}}, test.field: test.value,
		}}
		x := exporter{entries: []*entry{{Entry: e}}}
		if got := x.denies("gateways", "a.example/key"); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// The coverage reports for each entry the protection that is lost without the webhook.
func TestCoverage(t *testing.T) {
	const (
		mirrors = `mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}
- {name: quay, mode: enforce, sources: [quay.io], mirror: m.example/quay}
`
		evil = "pods: [{name: evil, mode: enforce, images: {denied: [docker.io/evil]}}]\n"
	)
	both := []Target{VAP, MAP}
	for name, test := range map[string]struct {
		text    string
		options Options
		want    []string
	}{
		"modes and parts": {`mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example}]
pods: [{name: p, mode: warn, images: {digest: required}}, {name: r, mode: enforce, images: {digest: required}, workloads: off}]
services:
- {name: s, mode: enforce, types: {denied: [NodePort]}}
- {name: part, mode: audit, types: {denied: [NodePort]}, externalNames: {}}
- {name: none, mode: enforce, externalNames: {}}
- {name: "off", mode: "off", externalNames: {}}
- {name: later, mode: "off", until: 2099-01-01, externalNames: {}}
routes:
- {name: all, mode: enforce, hosts: {required: true}}
owners: [{name: o, mode: audit, hosts: [a.example], namespaces: [x]}]
`, Options{Targets: []Target{VAP}}, []string{
			"policy.yaml:3:11: mirrors hub: webhook only: none of the selected targets supports it",
			"policy.yaml:4:8: pods p: native: except the templates of workloads, which only the webhook validates",
			"policy.yaml:4:59: pods r: native",
			"policy.yaml:6:3: services s: native",
			"policy.yaml:7:3: services part: partly native: except externalNames (the API server does not have a list of public " +
				"top-level domains)",
			"policy.yaml:8:3: services none: webhook only: externalNames (the API server does not have a list of public " +
				"top-level domains)",
			"policy.yaml:9:3: services off: it is off",
			"policy.yaml:10:3: services later: it is off",
			"policy.yaml:12:3: routes all: partly native: except kinds (OpenShift Routes are not supported natively)",
			"policy.yaml:13:10: owners o: webhook only: entries of owners are not supported natively",
		}},
		"an end": {`services:
- {name: s, mode: enforce, exclude: {namespaces: [x], until: 2030-01-01, reason: y}, types: {denied: [NodePort]}}
- {name: set, mode: enforce, match: {set: edge}, types: {denied: [NodePort]}}
`, Options{Targets: both}, []string{
			"policy.yaml:4:3: services s: webhook only: exclude.until (it ends on 2030-01-01, and CEL has no clock)",
			"policy.yaml:5:3: services set: webhook only: match.set (the webhook path selects the rule set)",
		}},
		"an end that is not the only reason": {`services:
- {name: set, mode: enforce, match: {set: edge}, exclude: {namespaces: [x], until: 2030-01-01, reason: y}, types: {denied: [NodePort]}}
- {name: part, mode: enforce, exclude: {namespaces: [x], until: 2030-01-01, reason: y}, externalNames: {}, types: {denied: [NodePort]}}
- {name: excepted, mode: enforce, externalNames: {}, types: {denied: [NodePort]}}
exceptions: [{name: x, rules: [excepted], match: {namespaces: [a]}, until: 2030-01-01, reason: r}]
`, Options{Targets: both}, []string{
			"policy.yaml:4:3: services set: webhook only: exclude.until (it ends on 2030-01-01, and CEL has no clock), " +
				"match.set (the webhook path selects the rule set)",
			"policy.yaml:5:3: services part: webhook only: exclude.until (it ends on 2030-01-01, and CEL has no clock), " +
				"externalNames (the API server does not have a list of public top-level domains)",
			"policy.yaml:6:3: services excepted: webhook only: exceptions x: it ends on 2030-01-01, and CEL has no clock, " +
				"externalNames (the API server does not have a list of public top-level domains)",
		}},
		"an exception": {
			mirrors + evil + "exceptions: [{name: x, rules: [evil], match: {namespaces: [a]}, until: 2030-01-01, reason: r}]\n",
			Options{Targets: both},
			[]string{
				"policy.yaml:4:3: mirrors hub: webhook only: exceptions x: it ends on 2030-01-01, and CEL has no clock",
				"policy.yaml:5:3: mirrors quay: webhook only: exceptions x: it ends on 2030-01-01, and CEL has no clock",
				"policy.yaml:6:8: pods evil: webhook only: exceptions x: it ends on 2030-01-01, and CEL has no clock",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := Export(describe(t, test.text), test.options)
			if diff := cmp.Diff(test.want, result.Report()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// After its end, an entry, an exclude or an exception does not prevent the export.
func TestEnded(t *testing.T) {
	doc := describe(t, `mirrors:
- {name: m, mode: enforce, sources: [docker.io], mirror: m.example, exclude: {namespaces: [y], until: 2030-01-01, reason: r}}
- {name: trial, mode: warn, sources: [docker.io], mirror: trial.example, match: {namespaces: [z]}, until: 2030-01-01}
pods: [{name: evil, mode: enforce, images: {denied: [docker.io/evil]}}]
services:
- {name: s, mode: enforce, exclude: {namespaces: [x], until: 2030-01-01, reason: y}, types: {denied: [NodePort]}}
- {name: w, mode: warn, until: 2030-01-01, types: {denied: [LoadBalancer]}}
exceptions: [{name: x, rules: [evil], match: {namespaces: [a]}, until: 2030-01-01, reason: r}]
`)
	ends := time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		now       time.Time
		omissions int
	}{{time.Time{}, 6}, {ends.Add(-time.Second), 6}, {ends, 0}} {
		result := Export(doc, Options{Targets: []Target{VAP, MAP}, Now: test.now})
		if len(result.Omissions) != test.omissions {
			t.Errorf("at %s: %v", test.now, result.Omissions)
		}
	}
	result := Export(doc, Options{Targets: []Target{VAP, MAP}, Now: ends})
	want := []string{
		"policy.yaml:4:3: mirrors m: native: except warnings and audit annotations about images, which only the webhook writes",
		"policy.yaml:5:3: mirrors trial: it has ended",
		"policy.yaml:6:8: pods evil: native: except the templates of workloads, which only the webhook validates",
		"policy.yaml:8:3: services s: native",
		"policy.yaml:9:3: services w: it has ended",
	}
	if diff := cmp.Diff(want, result.Report()); diff != "" {
		t.Error(diff)
	}
	text, err := result.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, ended := range []string{"LoadBalancer", `"x"`, `"y"`, `"z"`} {
		if strings.Contains(string(text), ended) {
			t.Errorf("the export contains %s", ended)
		}
	}
	if !strings.Contains(string(text), `"trial.example"`) {
		t.Error("images at the mirror of an entry that has ended do not count as images from a mirror")
	}
}

// With --best-effort, an omitted block is left out, and the other blocks of its entry stay.
func TestBestEffort(t *testing.T) {
	r := Export(describe(t, `services: [{name: part, mode: enforce, types: {denied: [NodePort]}, externalNames: {}}]`),
		Options{
			Targets: []Target{VAP}, Exempt: ExemptNamespaces(), Hash: "0123456789ab",
		})
	text, err := r.Text()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "best-effort.yaml", text)
	for _, want := range []string{"# not exported: policy.yaml:3:12: services[0].externalNames:", "types.denied",
		"failurePolicy: Fail"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("lacks %s", want)
		}
	}
}

// The exempt namespaces are the same as in the base manifests.
func TestExemptNamespaces(t *testing.T) {
	kit, err := os.ReadFile("../../kustomize/base/exempt-namespaces.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(kit), "\nnames:\n")
	var names []string
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), " ")
		names = append(names, name)
	}
	if diff := cmp.Diff(names, ExemptNamespaces()); diff != "" {
		t.Error(diff)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (write it by -update):\n%s", path, diff)
	}
}

// Files of the API server have names that objects cannot have, and refer to each other by these names.
func TestStatic(t *testing.T) {
	r := Export(describe(t, `mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example}]
pods: [{name: p, mode: enforce, images: {from: mirrors}}]
`), Options{Targets: []Target{Static}, Exempt: ExemptNamespaces(), BreakGlass: "evergate:break-glass", Hash: "0123456789ab"})
	text, err := r.Text()
	if err != nil || len(r.Omissions) > 0 {
		t.Fatal(err, r.Omissions)
	}
	golden(t, "static.yaml", text)
	for line := range strings.Lines(string(text)) {
		name, found := strings.CutPrefix(strings.TrimSpace(line), "name: evergate-")
		policy, foundPolicy := strings.CutPrefix(strings.TrimSpace(line), "policyName: ")
		if found && !strings.HasSuffix(name, staticSuffix) || foundPolicy && !strings.HasSuffix(policy, staticSuffix) {
			t.Errorf("%s", line)
		}
	}
}

// A list whose items have the type of an object makes kube-apiserver 1.36 panic, and the connection breaks. The
// module equivalence has shown this on a real server, which is not part of the gate.
func TestPatchOfMaps(t *testing.T) {
	doc := describe(t, "mirrors: [{name: m, mode: enforce, sources: [docker.io], mirror: m.example, "+
		"imagePullSecret: login}]")
	result := Export(doc, Options{Targets: []Target{MAP}})
	text, err := result.Text()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "/spec/imagePullSecrets/-") {
		t.Error("no pull secret is added")
	}
	if strings.Contains(string(text), "imagePullSecrets{") {
		t.Error("a pull secret is of the type of an object")
	}
}
