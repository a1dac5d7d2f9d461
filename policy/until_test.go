package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// at parses a time in RFC 3339.
func at(t testing.TB, s string) time.Time {
	t.Helper()
	v := must(time.Parse(time.RFC3339, s))
	return v
}

// The exceptions that silence a finding, and their end. There is one row for each place of until, before and after the
// end.
func TestExemptions(t *testing.T) {
	const before, after = "2027-01-31T23:59:59Z", "2027-02-01T00:00:00Z"
	service := func(match string) string {
		return "services:\n- {name: r, mode: enforce, types: {allowed: [ClusterIP]}" + match + "}\n"
	}
	exception := func(rules, match string) string {
		return service("") + "exceptions:\n- {name: legacy, rules: [" + rules + "], match: {" + match +
			"}, until: 2027-01-31, reason: TICKET-1}\n"
	}
	const (
		denied = "denied"
		warned = "warned"
		none   = "no finding"
	)
	exempt := func(by string) string { return "exempt until 2027-01-31 by " + by }
	for name, test := range map[string]struct {
		policy        string
		before, after string
	}{
		"an exclude without until": {service(", exclude: {namespaces: [shop]}"), none, none},
		"an exclude": {
			service(", exclude: {namespaces: [shop], until: 2027-01-31, reason: TICKET-1}"), exempt("exclude: TICKET-1"), denied,
		},
		"an exclude without a reason":  {service(", exclude: {namespaces: [shop], until: 2027-01-31}"), exempt("exclude"), denied},
		"an exclude of others":         {service(", exclude: {namespaces: [other], until: 2027-01-31}"), denied, denied},
		"an exclude by a label":        {service(", exclude: {labels: [legacy], until: 2027-01-31}"), exempt("exclude"), denied},
		"an exclude by a user":         {service(", exclude: {users: [jane], until: 2027-01-31}"), exempt("exclude"), denied},
		"an exclude in quotes":         {service(`, exclude: {users: [jane], until: "2027-01-31"}`), exempt("exclude"), denied},
		"an entry in mode warn":        {strings.Replace(service(", until: 2027-01-31"), "enforce", "warn", 1), warned, none},
		"an entry in mode audit":       {strings.Replace(service(", until: 2027-01-31"), "enforce", "audit", 1), "audited", none},
		"an exception":                 {exception("r", "namespaces: [shop]"), exempt("legacy: TICKET-1"), denied},
		"an exception for its check":   {exception("r/types.allowed", "namespaces: [shop]"), exempt("legacy: TICKET-1"), denied},
		"an exception for all checks":  {exception("r/*", "namespaces: [shop]"), exempt("legacy: TICKET-1"), denied},
		"an exception for all rules":   {exception(`"*"`, "namespaces: [shop]"), exempt("legacy: TICKET-1"), denied},
		"an exception for other check": {exception("r/ports.*", "namespaces: [shop]"), denied, denied},
		"an exception elsewhere":       {exception("r", "namespaces: [other]"), denied, denied},
		"an exception needs all of its dimensions": {
			exception("r", "namespaces: [shop], users: [joe]"), denied, denied,
		},
		"an exception by several": {
			exception("r", `namespaces: ["sh*"], users: [jane], labels: [legacy]`), exempt("legacy: TICKET-1"), denied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, test.policy)
			svc := &object.Service{Meta: object.Meta{Labels: map[string]string{"legacy": ""}}, Type: "NodePort"}
			for now, want := range map[string]string{before: test.before, after: test.after} {
				a := object.Attributes{Operation: object.Create, Namespace: "shop", User: "jane", Resource: "services", Now: at(t, now)}
				got := none
				for _, f := range must(p.EvaluateService(a, svc, nil, nil)) {
					switch {
					case f.Exempt != nil && (f.Denies() || f.Warns()):
						t.Errorf("%s: an exempt finding denies or warns", now)
					case f.Exempt != nil:
						got = f.Exempt.String()
					case f.Denies():
						got = denied
					case f.Warns():
						got = warned
					default:
						got = "audited"
					}
				}
				if got != want {
					t.Errorf("at %s: got %s, want %s", now, got, want)
				}
			}
		})
	}
}

// If an exemption has ended, the finding is pre-existing in an update that does not change it. If an update takes an
// object out of an active exemption, the finding is introduced, as with an exclude.
func TestRatchetOfExemptions(t *testing.T) {
	const inForce, over = "2027-01-31T12:00:00Z", "2027-02-01T12:00:00Z"
	labelled := func(svc object.Service, labels ...string) object.Service {
		svc.Labels = map[string]string{}
		for _, l := range labels {
			svc.Labels[l] = ""
		}
		return svc
	}
	nodePort, loadBalancer := object.Service{Type: "NodePort"}, object.Service{Type: "LoadBalancer"}
	const rule = "services:\n- {name: r, mode: enforce, types: {allowed: [ClusterIP]}"
	policies := map[string]string{
		"exclude":   rule + ", exclude: {labels: [legacy], until: 2027-01-31}}\n",
		"exception": rule + "}\nexceptions:\n- {name: e, rules: [r], match: {labels: [legacy]}, until: 2027-01-31, reason: x}\n",
	}
	for name, test := range map[string]struct {
		now      string
		old, svc object.Service
		want     string
	}{
		"in force, unchanged":            {inForce, labelled(nodePort, "legacy"), labelled(nodePort, "legacy"), "exempt"},
		"in force, changed":              {inForce, labelled(nodePort, "legacy"), labelled(loadBalancer, "legacy"), "exempt"},
		"in force, created":              {inForce, object.Service{}, labelled(nodePort, "legacy"), "exempt"},
		"in force, the label is removed": {inForce, labelled(nodePort, "legacy"), nodePort, "denied"},
		"in force, the label is added":   {inForce, nodePort, labelled(nodePort, "legacy"), "exempt"},
		"over, unchanged":                {over, labelled(nodePort, "legacy"), labelled(nodePort, "legacy"), "warned, existed"},
		"over, another label":            {over, labelled(nodePort, "legacy"), labelled(nodePort, "legacy", "a"), "warned, existed"},
		"over, the label is removed":     {over, labelled(nodePort, "legacy"), nodePort, "warned, existed"},
		"over, changed":                  {over, labelled(nodePort, "legacy"), labelled(loadBalancer, "legacy"), "denied"},
		"over, introduced":               {over, labelled(object.Service{}, "legacy"), labelled(nodePort, "legacy"), "denied"},
		"over, fixed":                    {over, labelled(nodePort, "legacy"), labelled(object.Service{}, "legacy"), ""},
	} {
		for kind, text := range policies {
			t.Run(kind+" "+name, func(t *testing.T) {
				a := object.Attributes{Operation: object.Update, Namespace: "shop", Resource: "services", Now: at(t, test.now)}
				got := ""
				for _, f := range must(mustLoad(t, text).EvaluateService(a, &test.svc, &test.old, nil)) {
					switch {
					case f.Denies():
						got = "denied"
					case f.Warns():
						got = "warned"
					case f.Exempt != nil:
						got = "exempt"
					}
					if f.Existed {
						got += ", existed"
					}
				}
				if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		}
	}
}

// Images of a Pod: until in the exclude of rules and of mirrors, and an exception for single images.
func TestExemptImages(t *testing.T) {
	const mirror = "mirrors:\n- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub%s}\n"
	const rule = "pods:\n- {name: r, mode: enforce, images: {%s}%s}\n"
	const exception = "exceptions:\n- {name: e, rules: [r], match: {images: [docker.io/library/old]}, until: 2027-01-31, reason: x}\n"
	only, denied := "from: mirrors", "denied: [docker.io/library/old]"
	until := ", exclude: {images: [docker.io/library/old], until: 2027-01-31}"
	for name, test := range map[string]struct {
		policy        string
		image         string
		before, after string
	}{
		"exclude of a mirror": {
			fmt.Sprintf(mirror, until) + fmt.Sprintf(rule, only, ""), "old:1",
			"excluded", "rewritten",
		},
		"exclude of a mirror, a namespace": {
			fmt.Sprintf(mirror, ", exclude: {namespaces: [shop], until: 2027-01-31}"), "old:1", "excluded", "rewritten",
		},
		"mirror in mode warn": {
			strings.Replace(fmt.Sprintf(mirror, ", until: 2027-01-31"), "enforce", "warn", 1), "old:1", "would be rewritten", "no mirror",
		},
		"mirror in mode warn, beside one in mode enforce": {
			fmt.Sprintf(mirror, "") +
				"- {name: old, mode: warn, sources: [docker.io], mirror: n.example, match: {namespaces: [shop]}, until: 2027-01-31}\n",
			"old:1", "would be rewritten", "rewritten",
		},
		"exclude of a rule": {
			fmt.Sprintf(rule, only, until), "old:1", "no mirror, r/images.from exempt", "no mirror, r/images.from denied",
		},
		"exclude of a rule, another image": {
			fmt.Sprintf(rule, only, until), "new:1", "no mirror, r/images.from denied", "no mirror, r/images.from denied",
		},
		"exclude of a rule, no image": {
			fmt.Sprintf(rule, only, until), "docker.io/library/old/a b", "malformed, r/images.from denied", "malformed, r/images.from denied",
		},
		"exception for an image": {
			fmt.Sprintf(rule, only, "") + exception, "old@" + digest256, "no mirror, r/images.from exempt", "no mirror, r/images.from denied",
		},
		"exception for another image": {
			fmt.Sprintf(rule, only, "") + exception, "new:1", "no mirror, r/images.from denied", "no mirror, r/images.from denied",
		},
		"original that is denied": {
			fmt.Sprintf(mirror, "") + fmt.Sprintf(rule, denied, "") + exception, "old:1",
			"rewritten, r/images.denied exempt", "denied, r/images.denied denied",
		},
		"original that is denied, exclude": {
			fmt.Sprintf(mirror, "") + fmt.Sprintf(rule, denied, until), "old:1",
			"rewritten, r/images.denied exempt", "denied, r/images.denied denied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, test.policy)
			for now, want := range map[string]string{"2027-01-31T23:59:59Z": test.before, "2027-02-01T00:00:00Z": test.after} {
				a := object.Attributes{Operation: object.Create, Namespace: "shop", Resource: "pods", Now: at(t, now)}
				pod := imagePod(test.image)
				rw := must(p.RewritePod(a, pod, nil, nil))
				got := rw.Images[0].Outcome.String()
				if rw.Images[0].Outcome == Rewritten {
					pod.Images[0].Ref = rw.Images[0].To
				}
				for _, f := range append(rw.Findings, must(p.EvaluatePod(a, pod, nil, nil))...) {
					got += ", " + f.ID() + " " + map[bool]string{true: "denied", false: f.ModeWord()}[f.Denies()]
				}
				if got != want {
					t.Errorf("at %s: got %s, want %s", now, got, want)
				}
			}
		})
	}
}

// If a rule requires a mirror, the mirror still counts after its entry in mode warn has ended, because a date must not
// deny anything.
func TestEndedMirrorIsStillOne(t *testing.T) {
	p := mustLoad(t, "mirrors:\n- {name: hub, mode: warn, sources: [docker.io], mirror: m.example/hub, until: 2027-01-31}\n"+
		"pods:\n- {name: r, mode: enforce, images: {from: mirrors}}\n")
	a := object.Attributes{Operation: object.Create, Namespace: "shop", Now: at(t, "2027-03-01T00:00:00Z")}
	if f := must(p.EvaluatePod(a, imagePod("m.example/hub/library/nginx:1"), nil, nil)); len(f) > 0 {
		t.Errorf("%v", f)
	}
	out := must(p.RewritePod(a, imagePod("nginx:1"), nil, nil)).Images[0]
	const want = "no source covers docker.io/library/nginx here: mirrors entry hub ended, it has until: 2027-01-31"
	if got := out.Why(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// If entries have ended, the sentence contains the entry with the longest source.
func TestEndedMirrorOfTheLongestSource(t *testing.T) {
	p := mustLoad(t, `mirrors:
- {name: hub, mode: warn, sources: [docker.io], mirror: m.example/hub, until: 2027-01-31}
- {name: library, mode: warn, sources: [docker.io/library], mirror: m.example/library, until: 2027-01-30}
`)
	a := object.Attributes{Operation: object.Create, Namespace: "shop", Now: at(t, "2027-03-01T00:00:00Z")}
	const want = "no source covers docker.io/library/nginx here: mirrors entry library ended, it has until: 2027-01-30"
	if got := must(p.RewritePod(a, imagePod("nginx:1"), nil, nil)).Images[0].Why(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Findings of owners contain the entry, although one rule evaluates all entries of a mode.
func TestExemptOwners(t *testing.T) {
	p := mustLoad(t, "owners:\n- {name: shop, mode: enforce, hosts: [shop.example], namespaces: [shop]}\n"+
		"- {name: bank, mode: enforce, hosts: [bank.example], namespaces: [bank]}\n"+
		"- {name: trial, mode: warn, hosts: [trial.example], namespaces: [bank], until: 2027-01-31}\n"+
		"exceptions:\n- {name: move, rules: [shop/owners], match: {namespaces: [other]}, until: 2027-01-31, reason: x}\n")
	ing := &object.Ingress{Rules: []object.IngressRule{{Host: "shop.example"}, {Host: "bank.example"}, {Host: "trial.example"}}}
	for now, want := range map[string][]string{
		"2027-01-31T00:00:00Z": {"shop exempt", "bank enforce", "trial warn"},
		"2027-02-01T00:00:00Z": {"shop enforce", "bank enforce"},
	} {
		a := object.Attributes{Operation: object.Create, Namespace: "other", Resource: "ingresses", Now: at(t, now)}
		var got []string
		for _, f := range must(p.EvaluateIngress(a, ing, nil, nil)) {
			got = append(got, f.Rule+" "+f.ModeWord())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at %s: %s", now, diff)
		}
	}
}

// An exception for a class does not apply to objects that may have another class too: a ListenerSet, which does not
// contain its class, and an Ingress with two classes.
func TestExceptionsByClass(t *testing.T) {
	p := mustLoad(t, "gateways:\n- {name: g, mode: enforce, hosts: {allowed: []}}\n"+
		"ingresses:\n- {name: i, mode: enforce, hosts: {allowed: []}}\n"+
		"exceptions:\n- {name: eg, rules: [g], match: {gatewayClassNames: [legacy]}, until: 2027-01-31, reason: x}\n"+
		"- {name: ei, rules: [i], match: {classNames: [legacy]}, until: 2027-01-31, reason: x}\n")
	a := object.Attributes{Operation: object.Create, Namespace: "shop", Now: at(t, "2027-01-01T00:00:00Z")}
	gateway := func(class string) []Finding {
		g := &object.Gateway{ClassName: class, Listeners: []object.Listener{{Name: "a", Hostname: "a.example"}}}
		return must(p.EvaluateGateway(a, g, nil, nil))
	}
	ingress := func(class, annotation string) []Finding {
		ing := withHosts("a.example")
		if ing.ClassName = &class; annotation != "" {
			ing.Annotations = map[string]string{"kubernetes.io/ingress.class": annotation}
		}
		return must(p.EvaluateIngress(a, ing, nil, nil))
	}
	for name, test := range map[string]struct {
		findings []Finding
		want     string
	}{
		"a Gateway of the class":          {gateway("legacy"), "exempt"},
		"a Gateway of another":            {gateway("public"), "enforce"},
		"a ListenerSet":                   {gateway(""), "enforce"},
		"an Ingress of the class":         {ingress("legacy", ""), "exempt"},
		"an Ingress of another one too":   {ingress("public", "legacy"), "enforce"},
		"an Ingress with the class twice": {ingress("legacy", "legacy"), "exempt"},
		"an Ingress without a class":      {ingress("", ""), "enforce"},
	} {
		if len(test.findings) != 1 || test.findings[0].ModeWord() != test.want {
			t.Errorf("%s: got %v, want one finding: %s", name, test.findings, test.want)
		}
	}
}

// An exception for one owners entry does not allow hosts of another entry. A wildcard, and a text that covers every
// host, are still compared with the other entries.
func TestExemptOwnerOpensNoOther(t *testing.T) {
	p := mustLoad(t, "owners:\n- {name: a, mode: enforce, hosts: [a.corp.example, c.corp.example], namespaces: [a]}\n"+
		"- {name: b, mode: enforce, hosts: [b.corp.example], namespaces: [b]}\n"+
		"- {name: d, mode: enforce, hosts: [d.corp.example], namespaces: [d]}\n"+
		"exceptions:\n- {name: move, rules: [a], match: {labels: [moves]}, until: 2027-01-31, reason: x}\n")
	a := object.Attributes{Operation: object.Create, Namespace: "other", Resource: "ingresses", Now: at(t, "2027-01-31T00:00:00Z")}
	hosts := func(labels map[string]string, hosts ...string) *object.Ingress {
		ing := withHosts(hosts...)
		ing.Labels = labels
		return ing
	}
	moves := map[string]string{"moves": ""}
	for name, test := range map[string]struct {
		ing, old *object.Ingress
		want     []string
	}{
		"a wildcard":                       {hosts(moves, "*.corp.example"), nil, []string{"a exempt", "b enforce"}},
		"every host":                       {hosts(moves, ""), nil, []string{"a exempt", "b enforce"}},
		"one name":                         {hosts(moves, "a.corp.example"), nil, []string{"a exempt"}},
		"without the label":                {hosts(nil, "*.corp.example"), nil, []string{"a enforce"}},
		"as before":                        {hosts(moves, "*.corp.example"), hosts(moves, "*.corp.example"), []string{"a exempt", "b existed"}},
		"an update that adds the label":    {hosts(moves, "*.corp.example"), hosts(nil, "*.corp.example"), []string{"a exempt", "b existed"}},
		"an update that removes the label": {hosts(nil, "*.corp.example"), hosts(moves, "*.corp.example"), []string{"a enforce"}},
		"an update that adds the wildcard": {hosts(moves, "*.corp.example"), hosts(moves, "a.corp.example"), []string{"a exempt", "b enforce"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range must(p.EvaluateIngress(a, test.ing, test.old, nil)) {
				word := f.ModeWord()
				if f.Existed {
					word = "existed"
				}
				got = append(got, f.Rule+" "+word)
			}
			equal(t, test.want, got)
		})
	}
}

// Each rule has a separate exclude.
func TestExcludesOfTwoRules(t *testing.T) {
	p := mustLoad(t, `services:
- {name: a, mode: enforce, types: {allowed: []}, exclude: {namespaces: [other], until: 2027-01-31}}
- {name: b, mode: enforce, types: {allowed: []}, exclude: {namespaces: [shop], until: 2027-01-31}}
- {name: c, mode: enforce, types: {allowed: []}, exclude: {namespaces: [other], until: 2027-01-31}}
`)
	a := object.Attributes{Operation: object.Create, Namespace: "shop", Now: at(t, "2027-01-31T00:00:00Z")}
	got := map[string]bool{}
	for _, f := range must(p.EvaluateService(a, &object.Service{Type: "NodePort"}, nil, nil)) {
		got[f.Rule] = f.Exempt != nil
	}
	equal(t, map[string]bool{"a": false, "b": true, "c": false}, got)
}

// The evaluation stops after a thousand introduced findings. A thousand pre-existing findings are kept, and the others
// are counted.
func TestManyFindings(t *testing.T) {
	p := mustLoad(t, "services:\n- {name: a, mode: enforce, ports: {allowed: []}}\n")
	for _, test := range []struct {
		n       int
		existed bool
		want    string // the end of the last sentence
	}{
		{rule.MaxFindings - 1, false, "; the policy allows none"},
		{rule.MaxFindings, false, "; the evaluation stopped at 1000 findings"},
		{rule.MaxFindings, true, "; the policy allows none"},
		{rule.MaxFindings + 1, true, "; and 1 more that existed before"},
	} {
		svc, a := new(object.Service), object.Attributes{Operation: object.Create, Namespace: "shop"}
		for i := range test.n {
			svc.Ports = append(svc.Ports, object.ServicePort{Port: int32(i + 1)})
		}
		var old *object.Service
		if test.existed {
			old, a.Operation = svc, object.Update
		}
		findings := must(p.EvaluateService(a, svc, old, nil))
		if last := findings[len(findings)-1]; !strings.HasSuffix(last.Reason, test.want) {
			t.Errorf("%+v: %s", test, last.Reason)
		}
	}
}

// Exempt findings do not stop the evaluation, because a finding that denies may follow any number of them.
func TestManyExemptFindings(t *testing.T) {
	p := mustLoad(t, "services:\n- {name: a, mode: enforce, ports: {allowed: []}}\n- {name: z, mode: enforce, types: {allowed: [ClusterIP]}}\n"+
		"exceptions:\n- {name: e, rules: [a], match: {namespaces: [shop]}, until: 2027-01-31, reason: x}\n")
	svc := &object.Service{Type: "NodePort"}
	for i := range rule.MaxFindings + 10 {
		svc.Ports = append(svc.Ports, object.ServicePort{Port: int32(i + 1)})
	}
	findings := must(p.EvaluateService(object.Attributes{Operation: object.Create, Namespace: "shop"}, svc, nil, nil))
	last := findings[len(findings)-1]
	if len(findings) != rule.MaxFindings+1 || !last.Denies() {
		t.Errorf("%d findings, the last one %+v", len(findings), last)
	}
	if want := "; and 10 more that are exempt"; !strings.HasSuffix(last.Reason, want) {
		t.Errorf("%s lacks %s", last.Reason, want)
	}
}

// The text of --explain about a rule.
func TestExplainExemptions(t *testing.T) {
	p := mustLoad(t, `services:
- {name: exclude, mode: enforce, types: {allowed: [ClusterIP]}, exclude: {namespaces: [shop], until: 2027-01-31, reason: TICKET-1}}
- {name: forever, mode: enforce, types: {allowed: [ClusterIP]}, exclude: {namespaces: [shop], reason: TICKET-2}}
- {name: trial, mode: warn, types: {allowed: [ClusterIP]}, until: 2027-01-31}
- {name: exception, mode: enforce, types: {allowed: [ClusterIP]}}
exceptions:
- {name: legacy, rules: [exception], match: {namespaces: [shop]}, until: 2027-01-31, reason: TICKET-3}
`)
	for now, want := range map[string][]string{
		"2027-01-31T00:00:00Z": {
			"exclude: applies, 1 finding(s), 1 exempt",
			"forever: excluded: exclude.namespaces has shop: TICKET-2, 0 finding(s), 0 exempt",
			"trial: applies, 1 finding(s), 0 exempt",
			"exception: applies, 1 finding(s), 1 exempt",
		},
		"2027-02-01T00:00:00Z": {
			"exclude: applies, 1 finding(s), 0 exempt",
			"forever: excluded: exclude.namespaces has shop: TICKET-2, 0 finding(s), 0 exempt",
			"trial: ended: the entry has until: 2027-01-31, 0 finding(s), 0 exempt",
			"exception: applies, 1 finding(s), 0 exempt",
		},
	} {
		a := object.Attributes{Operation: object.Create, Namespace: "shop", Now: at(t, now)}
		var got []string
		for _, r := range p.ExplainService(a, &object.Service{Type: "NodePort"}) {
			got = append(got, fmt.Sprintf("%s: %s, %d finding(s), %d exempt", r.Rule, r.Why, r.Findings, r.Exempt))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at %s: %s", now, diff)
		}
	}
}

// The ends in a policy, the earliest first. Entries in mode off do not have an end.
func TestExpiries(t *testing.T) {
	p := mustLoad(t, `services:
- {name: a, mode: warn, match: {set: edge}, types: {allowed: [ClusterIP]}, until: 2027-03-01, reason: trial, exclude: {namespaces: [x], until: 2027-02-01}}
- {name: b, mode: off, types: {allowed: [ClusterIP]}, until: 2027-01-01}
- {name: c, mode: enforce, types: {allowed: [ClusterIP]}, exclude: {namespaces: [x]}}
exceptions:
- {name: e, rules: [c], match: {namespaces: [shop]}, until: 2027-02-01T12:00:00Z, reason: TICKET-1}
`)
	var got []string
	for _, e := range p.Expiries() {
		got = append(got, fmt.Sprintf("%s:%d %s %s %s %q %s", e.Place.File, e.Place.Line, e.What, e.Rule, e.Until, e.Reason,
			e.Ends.Format(time.RFC3339)))
	}
	want := []string{
		`policy.yaml:8 exception e 2027-02-01T12:00:00Z "TICKET-1" 2027-02-01T12:00:00Z`,
		`policy.yaml:4 exclude a 2027-02-01 "" 2027-02-02T00:00:00Z`,
		`policy.yaml:4 entry a 2027-03-01 "trial" 2027-03-02T00:00:00Z`,
	}
	equal(t, want, got)
}

// If the exemption of an image has ended, an update that does not change the image neither rewrites it nor is denied.
func TestRatchetOfExemptImages(t *testing.T) {
	p := mustLoad(t, `mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub, exclude: {namespaces: [shop], until: 2027-01-31}}
pods:
- {name: from, mode: enforce, images: {from: mirrors}}
- {name: denied, mode: enforce, images: {denied: [docker.io/library/old]}}
exceptions:
- {name: e, rules: [denied], match: {namespaces: [shop]}, until: 2027-01-31, reason: x}
`)
	const inForce, over = "2027-01-31T00:00:00Z", "2027-02-01T00:00:00Z"
	for name, test := range map[string]struct {
		now      string
		old, pod *object.Pod
		want     string
	}{
		"in force":             {inForce, imagePod("old:1"), imagePod("old:1"), "unchanged, denied/images.denied exempt"},
		"in force, another":    {inForce, imagePod("old:1"), imagePod("old:2"), "excluded, denied/images.denied exempt"},
		"over":                 {over, imagePod("old:1"), imagePod("old:1"), "unchanged, from/images.from warned, denied/images.denied warned"},
		"over, another":        {over, imagePod("old:1"), imagePod("old:2"), "denied, from/images.from denied, denied/images.denied denied"},
		"over, one that rules": {over, imagePod("old:1"), imagePod("new:2"), "rewritten"},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Update, Namespace: "shop", Resource: "pods", Now: at(t, test.now)}
			rw := must(p.RewritePod(a, test.pod, test.old, nil))
			got := rw.Images[0].Outcome.String()
			if rw.Images[0].Outcome == Rewritten {
				test.pod.Images[0].Ref = rw.Images[0].To
			}
			for _, f := range append(rw.Findings, must(p.EvaluatePod(a, test.pod, test.old, nil))...) {
				word := "exempt"
				switch {
				case f.Denies():
					word = "denied"
				case f.Warns():
					word = "warned"
				}
				got += ", " + f.ID() + " " + word
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// An image that moves to another container is rewritten or denied again. It is an introduced finding if the Pod was
// exempt because of a label that the update removes.
func TestRatchetOfMovedImages(t *testing.T) {
	p := mustLoad(t, `mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}
pods:
- {name: r, mode: enforce, images: {denied: [docker.io/library/old]}, exclude: {podLabels: [legacy], until: 2027-01-31}}
`)
	old := imagePod("old:1")
	old.Labels = map[string]string{"legacy": ""}
	moved := imagePod("new:1", "old:1")
	for now, want := range map[string]Outcome{"2027-01-31T00:00:00Z": Denied, "2027-02-01T00:00:00Z": Rewritten} {
		a := object.Attributes{Operation: object.Update, Namespace: "shop", Resource: "pods", Now: at(t, now)}
		if got := must(p.RewritePod(a, moved, old, nil)).Images[1].Outcome; got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
}

// An exempt finding about an image that moves is reported, even if the Pod had it before the exemption.
func TestExemptMovedImages(t *testing.T) {
	p := mustLoad(t, `mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}
pods:
- {name: r, mode: enforce, images: {denied: [docker.io/library/old]}}
exceptions:
- {name: e, rules: [r], match: {podLabels: [legacy]}, until: 2027-01-31, reason: x}
`)
	moved := imagePod("new:1", "old:1")
	moved.Labels = map[string]string{"legacy": ""}
	a := object.Attributes{Operation: object.Update, Namespace: "shop", Resource: "pods", Now: at(t, "2027-01-31T00:00:00Z")}
	rw := must(p.RewritePod(a, moved, imagePod("old:1"), nil))
	if out := rw.Images[1].Outcome; out != Rewritten || len(rw.Findings) != 1 || rw.Findings[0].Exempt == nil {
		t.Errorf("%s, %v", out, rw.Findings)
	}
}

// The cost of exceptions grows with the exceptions for the namespace of an object, and not with other exceptions. The
// cost of loading them is limited.
func TestCostOfExceptions(t *testing.T) {
	exceptions := func(n int, rules, namespace string) string {
		var b strings.Builder
		b.WriteString("services:\n- {name: r, mode: enforce, ports: {allowed: []}}\nexceptions:\n")
		for i := range n {
			fmt.Fprintf(&b, "- {name: e%d, rules: [%s], match: {namespaces: [%s]}, until: 2027-01-31, reason: x}\n", i, rules,
				strings.ReplaceAll(namespace, "N", fmt.Sprint(i)))
		}
		return b.String()
	}
	steps := func(text string) int {
		svc := &object.Service{Type: "NodePort"}
		for i := range 100 {
			svc.Ports = append(svc.Ports, object.ServicePort{Port: int32(i + 1)})
		}
		e := new(Effort)
		must(mustLoad(t, text).EvaluateService(object.Attributes{Operation: object.Create, Namespace: "shop"}, svc, nil, e))
		return e.Steps()
	}
	few, many := steps(exceptions(1, "r", "shop, other-N")), steps(exceptions(1000, "r", "other-N"))
	if many > few {
		t.Errorf("%d steps with exceptions for other namespaces, %d with one", many, few)
	}
	if one, ten := few, steps(exceptions(10, "r/x", "shop")); ten > 10*one {
		t.Errorf("%d steps with ten exceptions, %d with one", ten, one)
	}
	for text, want := range map[string]string{
		exceptions(1001, "r", "shop"):                     "exceptions has 1001 entries; at most 1000 are read",
		exceptions(1, strings.Repeat("r, ", 101), "shop"): "has 101 elements; at most 100 are read",
	} {
		if _, err := Load(policyFile("p", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.200v, want %s", err, want)
		}
	}
	var b strings.Builder
	b.WriteString(exceptions(1000, strings.Repeat("\"*r\", ", 99)+"r", "shop") + "grants:\n")
	for i := range 100 {
		fmt.Fprintf(&b, "- {name: g%d, mode: warn, to: {names: required}}\n", i)
	}
	_, err := Load(policyFile("p", b.String()))
	const want = "finding the rules of exceptions takes more than 1,000,000 comparisons, which is the limit: write fewer patterns with *"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %.300v, want %s", err, want)
	}
}

// Each check in a sentence of testdata is a known check.
func TestCheckNames(t *testing.T) {
	id := regexp.MustCompile(`(?m)^# want: [a-z0-9.-]+/([a-zA-Z.]+): `)
	checks, tried := checkNames(), map[string]bool{}
	for _, pattern := range []string{"*/*.yaml", "*/*/*.yaml"} {
		for _, path := range testdata(t, pattern) {
			for _, m := range id.FindAllSubmatch(readFile(t, path), -1) {
				if check := string(m[1]); !tried[check] && !slices.Contains(checks, check) {
					t.Errorf("%s: %s", path, check)
				}
				tried[string(m[1])] = true
			}
		}
	}
	if len(tried) < 40 {
		t.Errorf("only %d checks were tried", len(tried))
	}
}

// Templates of workloads are exempt until the same moment as their Pods. This includes the templates before an update.
func TestExemptWorkloads(t *testing.T) {
	p := mustLoad(t, `pods:
- {name: r, mode: enforce, workloads: enforce, images: {denied: [docker.io/library/old]}}
exceptions:
- {name: e, rules: [r], match: {images: [docker.io/library/old], podLabels: [legacy]}, until: 2027-01-31, reason: x}
`)
	workload := func(image string, labels ...string) *object.Workload {
		pod := imagePod(image)
		pod.Labels = map[string]string{}
		for _, l := range labels {
			pod.Labels[l] = ""
		}
		return &object.Workload{Templates: []object.PodTemplate{{Pod: *pod, Path: "spec.template.spec"}}}
	}
	const inForce, over = "2027-01-31T00:00:00Z", "2027-02-01T00:00:00Z"
	for name, test := range map[string]struct {
		now    string
		w, old *object.Workload
		want   string
	}{
		"in force":                       {inForce, workload("old:1", "legacy"), nil, "exempt"},
		"in force, without the label":    {inForce, workload("old:1"), nil, "denies; its Pods will be denied"},
		"in force, the label is removed": {inForce, workload("old:1"), workload("old:1", "legacy"), "denies; its Pods will be denied"},
		"over":                           {over, workload("old:1", "legacy"), nil, "denies; its Pods will be denied"},
		"over, unchanged":                {over, workload("old:1", "legacy"), workload("old:1", "legacy"), "audit; its Pods will be denied"},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Create, Namespace: "shop", Group: "apps", Resource: "deployments", Now: at(t, test.now)}
			got := ""
			for _, f := range must(p.EvaluateWorkload(a, test.w, test.old, nil)) {
				got = f.ModeWord()
				if f.Denies() {
					got = "denies"
				}
				if end := "; its Pods will be denied"; strings.HasSuffix(f.Reason, end) {
					got += end
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
