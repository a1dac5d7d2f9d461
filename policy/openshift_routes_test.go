package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/object"
)

var creatingOpenShiftRoute = object.Attributes{Operation: object.Create, Namespace: "team", Resource: openShiftRoutes}

// The domains of one entry do not apply to another entry. The domains of all entries apply to owners. Without domains,
// a subdomain may belong to any owner.
func TestSubdomainDomains(t *testing.T) {
	const owners = "owners: [{name: o, mode: enforce, hosts: [web.apps.example, web.corp.example], namespaces: [platform]}]\n"
	const unknown = `"web" is below the domain of each router, which means every host`
	for name, test := range map[string]struct {
		rules string
		want  []string
	}{
		"not named": {"routes: [{name: r, mode: enforce, hosts: {allowed: ['*.example']}}]\n" + owners, []string{
			`r/hosts.allowed: spec.subdomain: ` + unknown + `; allowed: *.example`,
			`o/owners: spec.subdomain: ` + unknown + `, including web.apps.example, which belongs to the namespaces platform; set spec.host instead`,
		}},
		"of each entry": {`routes:
- {name: a, mode: enforce, subdomainDomains: [apps.example, Apps.example.], hosts: {denied: [web.apps.example], max: 1}}
- {name: b, mode: enforce, hosts: {wildcards: deny}}
- {name: c, mode: enforce, subdomainDomains: [corp.example, x.example], hosts: {denied: [web.corp.example], max: 1}}
` + owners, []string{
			`a/hosts.denied: spec.subdomain: "web.apps.example" is denied by web.apps.example`,
			`b/hosts.wildcards: spec.subdomain: ` + unknown + `; write each host out`,
			`c/hosts.denied: spec.subdomain: "web.corp.example" is denied by web.corp.example`,
			`c/hosts.max: spec.host: has 2 different hosts; at most 1 are allowed`,
			`o/owners: spec.subdomain: "web.apps.example" belongs to the namespaces platform`,
			`o/owners: spec.subdomain: "web.corp.example" belongs to the namespaces platform`,
		}},
		"of an entry in a weaker mode": {"routes: [{name: r, mode: warn, subdomainDomains: [x.example], hosts: {max: 5}}]\n" + owners, []string{
			`o/owners: spec.subdomain: ` + unknown + `, including web.apps.example, which belongs to the namespaces platform; set spec.host instead`,
		}},
		"elsewhere": {"routes: [{name: r, mode: enforce, subdomainDomains: [x.example], hosts: {max: 5}}]\n" + owners, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := must(mustLoad(t, test.rules).EvaluateOpenShiftRoute(creatingOpenShiftRoute, &object.OpenShiftRoute{Subdomain: "web"}, nil, nil))
			equal(t, test.want, sentences(found))
		})
	}
}

// Claims that were computed with the domains of one entry are not used for another entry.
func TestClaimsOfEachEntry(t *testing.T) {
	p := mustLoad(t, `routes:
- {name: a, mode: enforce, subdomainDomains: [apps.example], hosts: {max: 1}}
- {name: b, mode: enforce, subdomainDomains: [corp.example], hosts: {max: 1}}
`)
	annotations := map[string]string{"external-dns.kubernetes.io/hostname": "web.apps.example"}
	route := &object.OpenShiftRoute{Meta: object.Meta{Annotations: annotations}, Subdomain: "web"}
	got := sentences(must(p.EvaluateOpenShiftRoute(creatingOpenShiftRoute, route, nil, nil)))
	equal(t, []string{"b/hosts.max: spec.host: has 2 different hosts; at most 1 are allowed"}, got)
}

// An update is not denied for hosts that the old Route had: a host in any field, and the same subdomain if no domain is
// known.
func TestOpenShiftRatchet(t *testing.T) {
	for name, test := range map[string]struct {
		rules    string
		old, now object.OpenShiftRoute
		want     string // the paths of what denies
	}{
		"the same":                      {"hosts: {allowed: []}", object.OpenShiftRoute{Host: "a.example"}, object.OpenShiftRoute{Host: "a.example", Path: "/x"}, ""},
		"another host":                  {"hosts: {allowed: []}", object.OpenShiftRoute{Host: "a.example"}, object.OpenShiftRoute{Host: "b.example"}, "spec.host"},
		"a wildcard":                    {"hosts: {allowed: []}", object.OpenShiftRoute{Host: "a.example"}, object.OpenShiftRoute{Host: "a.example", WildcardPolicy: "Subdomain"}, "spec.host"},
		"the same subdomain":            {"hosts: {allowed: []}", object.OpenShiftRoute{Subdomain: "a"}, object.OpenShiftRoute{Subdomain: "a"}, ""},
		"another subdomain":             {"hosts: {allowed: []}", object.OpenShiftRoute{Subdomain: "a"}, object.OpenShiftRoute{Subdomain: "b"}, "spec.subdomain"},
		"the host of a subdomain":       {"subdomainDomains: [x.example], hosts: {allowed: []}", object.OpenShiftRoute{Subdomain: "a"}, object.OpenShiftRoute{Host: "a.x.example"}, ""},
		"a host, no longer":             {"hosts: {required: true}", object.OpenShiftRoute{Host: "a.example"}, object.OpenShiftRoute{}, "spec.host"},
		"a path":                        {"paths: {denied: [/a]}", object.OpenShiftRoute{Path: "/a"}, object.OpenShiftRoute{Path: "/ab"}, "spec.path"},
		"a kind, in another place":      {"backends: {kinds: []}", object.OpenShiftRoute{Backends: []string{"X"}}, object.OpenShiftRoute{Backends: []string{"Y", "X"}}, "spec.to.kind"},
		"a kind that is the absent one": {"backends: {kinds: []}", object.OpenShiftRoute{Backends: []string{""}}, object.OpenShiftRoute{Backends: []string{"Service"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := creatingOpenShiftRoute
			a.Operation = object.Update
			p := mustLoad(t, "routes: [{name: r, mode: enforce, "+test.rules+"}]\n")
			var got []string
			for _, f := range must(p.EvaluateOpenShiftRoute(a, &test.now, &test.old, nil)) {
				if f.Denies() {
					got = append(got, f.Path)
				}
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Entries without a check for Routes are not rules for them, and entries for other kinds do not apply.
func TestOpenShiftRules(t *testing.T) {
	p := mustLoad(t, `routes:
- {name: parents, mode: enforce, parents: {allowed: []}, paths: {types: []}, backends: {crossNamespace: deny}}
- {name: others, mode: warn, kinds: [HTTPRoute], hosts: {allowed: []}}
- {name: ours, mode: audit, kinds: [Route], hosts: {allowed: []}}
`)
	var got []string
	for _, trace := range p.ExplainOpenShiftRoute(creatingOpenShiftRoute, &object.OpenShiftRoute{}) {
		if trace.Applies {
			got = append(got, trace.Rule)
		}
	}
	if diff := cmp.Diff([]string{"ours"}, got); diff != "" || p.Strictest()[OpenShiftRoutes] != Warn {
		t.Errorf("strictest %s, applying: %s", p.Strictest()[OpenShiftRoutes], diff)
	}
	for _, f := range must(p.EvaluateRoute(object.Attributes{Operation: object.Create, Resource: udpRoutes}, &object.Route{}, nil, nil)) {
		t.Errorf("a rule for Routes applies to a UDPRoute: %s", f)
	}
}

func TestSubdomainDomainsErrors(t *testing.T) {
	const noDomain = ` is not the domain of a router: write its name without wildcards, as in apps.example.com`
	for domains, want := range map[string]string{
		`["*.apps.example"]`:  `"*.apps.example"` + noDomain,
		`["**"]`:              `"**"` + noDomain,
		`[""]`:                `""` + noDomain,
		`["apps.example:80"]`: `"apps.example:80"` + noDomain,
		`[]`:                  `subdomainDomains: [] checks nothing: leave the field out`,
	} {
		_, err := Load(policyFile("p", routesRule("hosts: {max: 1}\n  subdomainDomains: "+domains)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", domains, err, want)
		}
	}
	_, err := Load(policyFile("p", routesRule("subdomainDomains: [a.example]")))
	if err == nil || !strings.Contains(err.Error(), "checks nothing: write hosts") {
		t.Errorf("alone: %v", err)
	}
}
