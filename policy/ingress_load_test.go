package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every sentence begins with p.yaml:line:column, which the tests of loading check.
func TestIngressRuleErrors(t *testing.T) {
	for rule, want := range map[string]string{
		`message: ask us`: `ingresses[0]: checks nothing: write hosts, tls, classNames, paths, annotations, ingressNginx or defaultBackend`,

		`hosts: {}`:                           `ingresses[0].hosts: checks nothing: write required, allowed, denied, wildcards or max`,
		`hosts: {required: false}`:            `ingresses[0].hosts: checks nothing: write required, allowed, denied, wildcards or max`,
		`hosts: {max: 3, denied: []}`:         `ingresses[0].hosts.denied: [] checks nothing: leave the field out`,
		`hosts: {max: 0}`:                     `ingresses[0].hosts.max: 0 is too few, an Ingress has at least one host: to deny all of them write allowed: []`,
		`hosts: {wildcards: allow}`:           `ingresses[0].hosts.wildcards: "allow" is not known here: write deny, or leave the field out to allow it`,
		`hosts: {allowed: [""]}`:              `ingresses[0].hosts.allowed[0]: "" is not a host pattern: write "**" for every host`,
		`hosts: {allowed: ["*"]}`:             `ingresses[0].hosts.allowed[0]: "*" is not a host pattern: * stands for one label: write "**" for every host`,
		`hosts: {allowed: ["https://a.b/"]}`:  `ingresses[0].hosts.allowed[0]: "https://a.b/" is not a host pattern: leave scheme, port and path out`,
		`hosts: {allowed: ["a.b:443"]}`:       `ingresses[0].hosts.allowed[0]: "a.b:443" is not a host pattern: leave scheme, port and path out`,
		`hosts: {allowed: ["a*.b"]}`:          `ingresses[0].hosts.allowed[0]: "a*.b" is not a host pattern: * is one whole label and ** several, in front only: *.example.com, **.example.com`,
		`hosts: {allowed: ["**.*.b"]}`:        `ingresses[0].hosts.allowed[0]: "**.*.b" is not a host pattern: * is one whole label and ** several, in front only: *.example.com, **.example.com`,
		`hosts: {allowed: [a..b]}`:            `ingresses[0].hosts.allowed[0]: "a..b" is not a host pattern: it has an empty label`,
		`hosts: {allowed: [".b"]}`:            `ingresses[0].hosts.allowed[0]: ".b" is not a host pattern: it has an empty label`,
		`hosts: {allowed: [-a.b]}`:            `ingresses[0].hosts.allowed[0]: "-a.b" is not a host pattern: the label "-a" begins or ends with -`,
		`hosts: {allowed: [a_b.c]}`:           `ingresses[0].hosts.allowed[0]: "a_b.c" is not a host pattern: the label "a_b" holds another character than letters, digits and - (other scripts are written as xn--…)`,
		`hosts: {allowed: [bücher.example]}`:  `ingresses[0].hosts.allowed[0]: "bücher.example" is not a host pattern: the label "bücher" holds another character than letters, digits and - (other scripts are written as xn--…)`,
		`hosts: {allowed: [` + label64 + `]}`: `ingresses[0].hosts.allowed[0]: "` + label64[:60] + `"… is not a host pattern: the label "` + label64[:60] + `"… has 64 characters, a label has at most 63`,
		`hosts: {denied: ["` + host254 + `."]}`: `ingresses[0].hosts.denied[0]: "` + host254[:60] + `"… is not a host pattern: ` +
			`it has 254 characters, a host has at most 253`,
		`hosts: {allowed: [a.b, x.b], denied: ["*.B."]}`: "ingresses[0].hosts.allowed: a.b is also denied, by *.b: no host can pass by it\n" +
			`ingresses[0].hosts.allowed: x.b is also denied, by *.b: no host can pass by it`,

		`tls: {coversHosts: false}`:                              `ingresses[0].tls: checks nothing: write required, coversHosts or allowHTTP`,
		`classNames: {}`:                                         `ingresses[0].classNames: checks nothing: write required or allowed`,
		`paths: {}`:                                              `ingresses[0].paths: checks nothing: write types, denied, deniedPatterns or unsafeCharacters`,
		`paths: {types: [exact]}`:                                `ingresses[0].paths.types[0]: "exact" is not a path type: write Exact, Prefix or ImplementationSpecific`,
		`paths: {denied: [""]}`:                                  `ingresses[0].paths.denied[0]: an empty part stands in every path: to deny all paths write types: []`,
		`paths: {denied: [], unsafeCharacters: deny}`:            `ingresses[0].paths.denied: [] checks nothing: leave the field out`,
		`paths: {deniedPatterns: []}`:                            `ingresses[0].paths.deniedPatterns: [] checks nothing: leave the field out`,
		`paths: {deniedPatterns: ["("]}`:                         "ingresses[0].paths.deniedPatterns[0]: not a regular expression: missing closing ): `(`",
		`paths: {deniedPatterns: [")|("]}`:                       "ingresses[0].paths.deniedPatterns[0]: not a regular expression: unexpected ): `)|(`",
		`paths: {deniedPatterns: [""]}`:                          `ingresses[0].paths.deniedPatterns[0]: an empty regular expression covers only the empty value: write ".*" for everything`,
		`paths: {deniedPatterns: ["a\nb"]}`:                      `ingresses[0].paths.deniedPatterns[0]: a regular expression holds no control characters: write \n for a newline, \t for a tab`,
		`paths: {deniedPatterns: [_by_lua]}`:                     `ingresses[0].paths.deniedPatterns: _by_lua covers no path: it is compared with the whole path, which begins with /; write .*_by_lua.* for a part, or use denied`,
		`paths: {deniedPatterns: [(a.*)]}`:                       `ingresses[0].paths.deniedPatterns: (a.*) covers no path: it is compared with the whole path, which begins with /; write .*(a.*).* for a part, or use denied`,
		`annotations: {}`:                                        `ingresses[0].annotations: checks nothing: write denied, required, values or deniedValues`,
		`annotations: {required: []}`:                            `ingresses[0].annotations.required: [] checks nothing: leave the field out`,
		`annotations: {required: [{value: x}]}`:                  `ingresses[0].annotations.required[0]: key is required`,
		`annotations: {required: [{key: "a/*"}]}`:                `ingresses[0].annotations.required[0].key: "a/*" is not the key of one annotation: write it out`,
		`annotations: {values: [{key: a}]}`:                      `ingresses[0].annotations.values[0]: value is required`,
		`annotations: {required: [{key: a/b}], denied: ["a/*"]}`: `ingresses[0].annotations.required: a/b is also denied, by a/*: no object can pass`,
		`ingressNginx: {}`:                                       `ingresses[0].ingressNginx: maxRisk is required`,
		`ingressNginx: {maxRisk: medium}`:                        `ingresses[0].ingressNginx.maxRisk: "medium" is not a risk: write Low, Medium or High`,
		`ingressNginx: {maxRisk: Critical}`:                      `ingresses[0].ingressNginx.maxRisk: Critical lets every annotation pass: leave ingressNginx out`,
		`ingressNginx: {maxRisk: Low, prefix: "a/"}`:             `ingresses[0].ingressNginx.prefix: "a/" is not a prefix of annotations: the label "a/" holds another character than letters, digits and - (other scripts are written as xn--…)`,
		`defaultBackend: allow`:                                  `ingresses[0].defaultBackend: "allow" is not known here: write deny, or leave the field out to allow it`,

		"defaultBackend: deny\n  match: {podLabels: [app]}": `ingresses[0].match: podLabels has no meaning here: only entries of mirrors and pods look at Pods`,
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := Load(policyFile("p.yaml", ingressRule(rule)))
			if err == nil {
				t.Fatal("no error")
			}
			var got []string
			for line := range strings.SplitSeq(err.Error(), "\n") {
				_, line, _ = strings.Cut(line, ": ") // the position
				got = append(got, line)
			}
			if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var (
	label64 = strings.Repeat("x", 64)
	host254 = strings.Repeat("ab.", 84) + "ab"
)
