package policy

import (
	"strconv"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// gatewaysRule is a policy of one gateways entry with the given fields, in one line.
func gatewaysRule(fields string) string {
	return "gateways:\n- name: r\n  mode: enforce\n  " + fields + "\n"
}

var createGateway = object.Attributes{Operation: object.Create, Namespace: "team-a", Resource: "gateways"}

// gatewayCase is a Gateway and the sentences about it; none if it passes.
type gatewayCase struct {
	name string
	rule string
	g    object.Gateway
	want []string
}

func testGateways(t *testing.T, cases []gatewayCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := sentences(must(Gateways.Evaluate(mustLoad(t, gatewaysRule(c.rule)), createGateway, &c.g, nil, nil)))
			equal(t, c.want, got)
		})
	}
}

// withListeners is a Gateway with listeners for these hosts; empty for none.
func withListeners(hosts ...string) object.Gateway {
	var g object.Gateway
	for _, h := range hosts {
		g.Listeners = append(g.Listeners, object.Listener{Hostname: h, Port: 443, Protocol: "HTTPS"})
	}
	return g
}

func TestGatewaysEntryErrors(t *testing.T) {
	testErrors(t, "gateways", gatewaysRule, map[string]string{
		"message: none": ": checks nothing: write hosts, classNames, ports, protocols, tls, allowedRoutes, allowedListeners, " +
			"backends, filters, annotations or addresses",
		"hosts: {}":                         "hosts: checks nothing: write required, allowed, denied, wildcards or max",
		"classNames: {}":                    "classNames: allowed is required",
		"ports: {}":                         "ports: allowed is required",
		"protocols: {}":                     "protocols: allowed is required",
		"tls: {}":                           "tls: checks nothing: write modes or crossNamespaceRefs: deny",
		"tls: {modes: [terminate]}":         `tls.modes[0]: "terminate" is not a mode of TLS: write Terminate or Passthrough`,
		"tls: {crossNamespaceRefs: no-way}": `tls.crossNamespaceRefs: "no-way" is not known here: write deny, or leave the field out to allow it`,
		"allowedRoutes: {}":                 "allowedRoutes: from is required",
		"allowedRoutes: {from: []}":         "allowedRoutes.from: [] denies every Gateway: write [Same] or more",
		"allowedRoutes: {from: [same]}":     `allowedRoutes.from[0]: "same" is not known here: write All, Selector, Same or None`,
		"allowedListeners: {from: []}":      "allowedListeners.from: [] denies every Gateway: write [None] or more",
		"annotations: {}":                   "annotations: checks nothing: write denied, required, values or deniedValues",
		"addresses: {}":                     "addresses: checks nothing: write allowed or hostnames",
		"addresses: {hostnames: [1.2.3.4/8]}": `addresses.hostnames[0]: "1.2.3.4/8" is not a host pattern: ` +
			"leave scheme, port and path out",
		"ports: {allowed: []}\n  match: {loadBalancerClasses: [a]}": "match: loadBalancerClasses has no meaning here: only services entries match load balancer classes",
	})
}

// The findings of owners and hosts about listeners.
func TestGatewayHosts(t *testing.T) {
	const allowed = `hosts: {allowed: ["**.a.example", "*.b.example"]}`
	annotated := func(g object.Gateway, key, value string) object.Gateway {
		g.Annotations = map[string]string{key: value}
		return g
	}
	infrastructure := func(g object.Gateway, key, value string) object.Gateway {
		g.InfrastructureAnnotations = map[string]string{key: value}
		return g
	}
	const dns, dnsOld = "external-dns.kubernetes.io/hostname", "external-dns.alpha.kubernetes.io/hostname"
	testGateways(t, []gatewayCase{
		{"a name", allowed, withListeners("x.a.example", "x.y.a.example", "X.B.example."), nil},
		{"a second listener", allowed, withListeners("x.a.example", "c.example"), []string{
			`r/hosts.allowed: spec.listeners[1].hostname: "c.example" is not allowed; allowed: **.a.example, *.b.example`}},
		{"a wildcard is any depth", allowed, withListeners("*.x.a.example", "*.a.example", "*.b.example"), []string{
			`r/hosts.allowed: spec.listeners[2].hostname: "*.b.example" (names at any depth) is not allowed; allowed: **.a.example, *.b.example`}},
		{"absent", allowed, withListeners(""), []string{
			`r/hosts.allowed: spec.listeners[0].hostname: no host means every host; allowed: **.a.example, *.b.example`}},
		{"absent, but required", `hosts: {required: true}`, withListeners("a.example", ""), []string{
			`r/hosts.required: spec.listeners[1].hostname: no host means every host; set one`}},
		{"absent, over a denied host", `hosts: {denied: [a.example]}`, withListeners(""), []string{
			`r/hosts.denied: spec.listeners[0].hostname: no host means every host, including the denied a.example; set one`}},
		{"a wildcard over a denied host", `hosts: {denied: [x.y.a.example]}`, withListeners("*.a.example"), []string{
			`r/hosts.denied: spec.listeners[0].hostname: "*.a.example" (names at any depth) also covers the denied x.y.a.example; write each host out`}},
		{"wildcards", `hosts: {wildcards: deny}`, withListeners("*.a.example", "a.example"), []string{
			`r/hosts.wildcards: spec.listeners[0].hostname: "*.a.example" (names at any depth) is a wildcard, which is denied; write each host out`}},
		{"no name", allowed, withListeners("*", "www.*.example", "a.example:443"), []string{
			`r/hosts.allowed: spec.listeners[0].hostname: "*" may cover every host; allowed: **.a.example, *.b.example`,
			`r/hosts.allowed: spec.listeners[1].hostname: "www.*.example" may cover every host; allowed: **.a.example, *.b.example`,
			`r/hosts.allowed: spec.listeners[2].hostname: "a.example:443" may cover every host; allowed: **.a.example, *.b.example`}},
		{"absent beside what is no name", allowed, withListeners("*", ""), []string{
			`r/hosts.allowed: spec.listeners[0].hostname: "*" may cover every host; allowed: **.a.example, *.b.example`,
			`r/hosts.allowed: spec.listeners[1].hostname: no host means every host; allowed: **.a.example, *.b.example`}},
		{"one host for HTTP and HTTPS is one finding", allowed, withListeners("c.example", "c.example"), []string{
			`r/hosts.allowed: spec.listeners[0].hostname: "c.example" is not allowed; allowed: **.a.example, *.b.example`}},
		{"different hosts", `hosts: {max: 1}`, withListeners("a.example", "a.example", "b.example"), []string{
			`r/hosts.max: spec.listeners: has 2 different hosts; at most 1 are allowed`}},
		{"the namespace", `hosts: {allowed: ["*.{namespace}.example"]}`, withListeners("x.team-a.example", "x.team-b.example"), []string{
			`r/hosts.allowed: spec.listeners[1].hostname: "x.team-b.example" is not allowed; allowed: *.team-a.example`}},
		{"no listeners", `hosts: {required: true, allowed: []}`, object.Gateway{}, nil},
		{"a certificate", allowed, annotated(withListeners("x.a.example"), "cert-manager.io/alt-names", "y.a.example, c.example,*.b.example"), []string{
			`r/hosts.allowed: metadata.annotations["cert-manager.io/alt-names"]: "c.example" is not allowed; allowed: **.a.example, *.b.example`}},
		{"a common name", allowed, annotated(object.Gateway{}, "cert-manager.io/common-name", "c.example"), []string{
			`r/hosts.allowed: metadata.annotations["cert-manager.io/common-name"]: "c.example" is not allowed; allowed: **.a.example, *.b.example`}},
		{"a record of the Service", allowed, infrastructure(withListeners("x.a.example"), dns, "c.example"), []string{
			`r/hosts.allowed: spec.infrastructure.annotations["external-dns.kubernetes.io/hostname"]: "c.example" is not allowed; allowed: **.a.example, *.b.example`}},
		{"a record by the older prefix", allowed, infrastructure(object.Gateway{}, dnsOld, "*.b.example"), []string{
			`r/hosts.allowed: spec.infrastructure.annotations["external-dns.alpha.kubernetes.io/hostname"]: "*.b.example" (names at any depth) is not allowed; allowed: **.a.example, *.b.example`}},
		{"a record by an annotation that Istio copies", allowed, annotated(object.Gateway{}, dns, "c.example"), []string{
			`r/hosts.allowed: metadata.annotations["external-dns.kubernetes.io/hostname"]: "c.example" is not allowed; allowed: **.a.example, *.b.example`}},
		{"a certificate's annotation reaches no Service", allowed, infrastructure(object.Gateway{}, "cert-manager.io/common-name", "c.example"), nil},
		{"more than anyone has", allowed, infrastructure(object.Gateway{}, dns, strings.Repeat("x.a.example,", 1001)), []string{
			`r/hosts.allowed: spec.infrastructure.annotations["external-dns.kubernetes.io/hostname"]: "more than 1000 names" may cover every host; allowed: **.a.example, *.b.example`}},
	})
}

func TestGatewayClassNames(t *testing.T) {
	testGateways(t, []gatewayCase{
		{"allowed", `classNames: {allowed: [internal, "public-*"]}`, object.Gateway{ClassName: "public-eu"}, nil},
		{"another", `classNames: {allowed: [internal, "public-*"]}`, object.Gateway{ClassName: "edge"}, []string{
			`r/classNames.allowed: spec.gatewayClassName: "edge" is not allowed; allowed: internal, public-*`}},
		{"upper case", `classNames: {allowed: [internal]}`, object.Gateway{ClassName: "Internal"}, []string{
			`r/classNames.allowed: spec.gatewayClassName: "Internal" is not allowed; allowed: internal`}},
		{"none is allowed", `classNames: {allowed: []}`, object.Gateway{ClassName: "edge"}, []string{
			`r/classNames.allowed: spec.gatewayClassName: "edge" is not allowed; the policy allows none`}},
		{"a ListenerSet", `classNames: {allowed: []}`, withListeners("a.example"), nil},
	})
}

func TestGatewayPorts(t *testing.T) {
	g := object.Gateway{Listeners: []object.Listener{{Port: 443}, {Port: 8080}, {}}}
	testGateways(t, []gatewayCase{
		{"ranges", `ports: {allowed: ["443", "8000-8999"]}`, g, []string{
			"r/ports.allowed: spec.listeners[2].port: 0 is not allowed; allowed: 443, 8000-8999"}},
	})
}

func TestGatewayProtocols(t *testing.T) {
	g := object.Gateway{Listeners: []object.Listener{
		{Name: "a", Protocol: "HTTPS"}, {Name: "b", Protocol: "HTTP"}, {Name: "c", Protocol: "https"},
		{Name: "d", Protocol: "example.com/quic"}, {Name: "e"},
	}}
	testGateways(t, []gatewayCase{
		{"free text", `protocols: {allowed: [HTTPS, "example.com/*"]}`, g, []string{
			`r/protocols.allowed: spec.listeners[1].protocol: "HTTP" is not allowed; allowed: HTTPS, example.com/*`,
			`r/protocols.allowed: spec.listeners[2].protocol: "https" is not allowed; allowed: HTTPS, example.com/*`,
			`r/protocols.allowed: spec.listeners[4].protocol: "" is not allowed; allowed: HTTPS, example.com/*`}},
	})
}

func TestGatewayTLS(t *testing.T) {
	g := object.Gateway{Listeners: []object.Listener{
		{Name: "a", Protocol: "HTTPS"}, {Name: "b", Protocol: "TLS", TLS: &object.ListenerTLS{Mode: "Passthrough"}},
		{Name: "c", Protocol: "HTTP"}, {Name: "d", Protocol: "example.com/x", TLS: &object.ListenerTLS{}}, {Name: "e", Protocol: "TLS"},
	}}
	const passthrough = `r/tls.modes: spec.listeners[1].tls.mode: "Passthrough" is not allowed; allowed: Terminate`
	refs := func(namespaces ...string) (refs []object.CertificateRef) {
		for _, n := range namespaces {
			refs = append(refs, object.CertificateRef{Namespace: n, Name: "c"})
		}
		return refs
	}
	other := object.Gateway{
		Listeners:   []object.Listener{{}, {TLS: &object.ListenerTLS{CertificateRefs: refs("", "team-a", "team-b")}}},
		FrontendCAs: refs("team-c"), PortCAs: [][]object.CertificateRef{refs("team-a"), refs("", "team-d")},
		BackendCertificate: &object.CertificateRef{Namespace: "team-e", Name: "c"},
	}
	const end = " is another namespace, which is denied; refer to one of the same namespace"
	testGateways(t, []gatewayCase{
		{"Terminate, also by default", `tls: {modes: [Terminate]}`, g, []string{passthrough}},
		{"Passthrough", `tls: {modes: [Passthrough]}`, g, []string{
			`r/tls.modes: spec.listeners[0].tls.mode: "Terminate" is not allowed; allowed: Passthrough`,
			`r/tls.modes: spec.listeners[3].tls.mode: "Terminate" is not allowed; allowed: Passthrough`,
			`r/tls.modes: spec.listeners[4].tls.mode: "Terminate" is not allowed; allowed: Passthrough`}},
		{"no TLS is neither", `tls: {modes: []}`, object.Gateway{Listeners: []object.Listener{{Protocol: "HTTP"}}}, nil},
		{"other namespaces", `tls: {crossNamespaceRefs: deny}`, other, []string{
			`r/tls.crossNamespaceRefs: spec.listeners[1].tls.certificateRefs[2].namespace: "team-b"` + end,
			`r/tls.crossNamespaceRefs: spec.tls.frontend.default.validation.caCertificateRefs[0].namespace: "team-c"` + end,
			`r/tls.crossNamespaceRefs: spec.tls.frontend.perPort[1].tls.validation.caCertificateRefs[1].namespace: "team-d"` + end,
			`r/tls.crossNamespaceRefs: spec.tls.backend.clientCertificateRef.namespace: "team-e"` + end}},
	})
	p := mustLoad(t, gatewaysRule(`tls: {crossNamespaceRefs: deny}`))
	g = object.Gateway{Listeners: []object.Listener{{TLS: &object.ListenerTLS{CertificateRefs: refs("team-a")}}}}
	if got := must(Gateways.Evaluate(p, object.Attributes{Operation: object.Create}, &g, nil, nil)); len(got) != 1 {
		t.Errorf("without a namespace of its own: %v", got)
	}
}

func TestGatewayAllowedRoutes(t *testing.T) {
	from := func(from string, s *object.NamespaceSelector) object.Listener {
		return object.Listener{Name: from, AllowedRoutes: &object.ListenerNamespaces{From: from, Selector: s}}
	}
	expressions := func(of ...string) *object.NamespaceSelector {
		s := &object.NamespaceSelector{}
		for i := 0; i < len(of); i += 2 {
			s.MatchExpressions = append(s.MatchExpressions, object.SelectorExpression{Key: of[i], Operator: of[i+1]})
		}
		return s
	}
	const rule, all = `allowedRoutes: {from: [Same, Selector]}`, ` with a selector that matches namespaces without labels means "All", which is not allowed; allowed: Same, Selector`
	one := func(l object.Listener) object.Gateway { return object.Gateway{Listeners: []object.Listener{l}} }
	const path = "r/allowedRoutes.from: spec.listeners[0].allowedRoutes.namespaces.from: "
	testGateways(t, []gatewayCase{
		{"absent is Same", rule, one(object.Listener{}), nil},
		{"absent, not listed", `allowedRoutes: {from: [Selector]}`, one(object.Listener{}), []string{
			path + `is not set, which means "Same", and that is not allowed; allowed: Selector`}},
		{"null is Same", rule, one(from("", nil)), nil},
		{"Same", rule, one(from("Same", nil)), nil},
		{"All", rule, one(from("All", nil)), []string{path + `"All" is not allowed; allowed: Same, Selector`}},
		{"unknown", rule, one(from("all", nil)), []string{path + `"all" is not allowed; allowed: Same, Selector`}},
		{"labels", rule, one(from("Selector", &object.NamespaceSelector{MatchLabels: map[string]string{"a": "b"}})), nil},
		{"an empty selector", rule, one(from("Selector", &object.NamespaceSelector{})), []string{path + `"Selector"` + all}},
		{"no selector", rule, one(from("Selector", nil)), []string{path + `"Selector"` + all}},
		{"negative expressions", rule, one(from("Selector", expressions("a", "NotIn", "b", "DoesNotExist"))), []string{path + `"Selector"` + all}},
		{"any name", rule, one(from("Selector", expressions("kubernetes.io/metadata.name", "Exists"))), []string{path + `"Selector"` + all}},
		{"no name", rule, one(from("Selector", expressions("kubernetes.io/metadata.name", "DoesNotExist"))), nil},
		{"some names", rule, one(from("Selector", expressions("a", "NotIn", "kubernetes.io/metadata.name", "In"))), nil},
		{"a label", rule, one(from("Selector", expressions("a", "Exists"))), nil},
		{"an empty selector where All passes", `allowedRoutes: {from: [All]}`, one(from("Selector", nil)), nil},
		{"a selector that does not matter", rule, one(from("Same", &object.NamespaceSelector{})), nil},
	})
}

func TestGatewayAllowedListeners(t *testing.T) {
	const rule, path = `allowedListeners: {from: [Same]}`, "r/allowedListeners.from: spec.allowedListeners.namespaces.from: "
	testGateways(t, []gatewayCase{
		{"absent is None", rule, object.Gateway{}, nil},
		{"None", rule, object.Gateway{AllowedListeners: &object.ListenerNamespaces{From: "None"}}, nil},
		{"Same", rule, object.Gateway{AllowedListeners: &object.ListenerNamespaces{From: "Same"}}, nil},
		{"All", rule, object.Gateway{AllowedListeners: &object.ListenerNamespaces{From: "All"}}, []string{path + `"All" is not allowed; allowed: Same`}},
		{"an empty selector", `allowedListeners: {from: [Selector]}`,
			object.Gateway{AllowedListeners: &object.ListenerNamespaces{From: "Selector", Selector: &object.NamespaceSelector{}}}, []string{
				path + `"Selector" with a selector that matches namespaces without labels means "All", which is not allowed; allowed: Selector`}},
	})
}

func TestGatewayAddresses(t *testing.T) {
	const rule = `addresses: {allowed: [203.0.113.0/24], hostnames: ["*.lb.example"]}`
	g := func(of ...string) (g object.Gateway) {
		for i := 0; i < len(of); i += 2 {
			g.Addresses = append(g.Addresses, object.GatewayAddress{Type: of[i], Value: of[i+1]})
		}
		return g
	}
	const end = "; allowed: 203.0.113.0/24, *.lb.example"
	testGateways(t, []gatewayCase{
		{"none", rule, object.Gateway{}, nil},
		{"allowed", rule, g("", "203.0.113.7", "IPAddress", "::ffff:203.0.113.8", "Hostname", "X.lb.example"), nil},
		{"others", rule, g("", "192.0.2.1", "Hostname", "lb.example", "IPAddress", "x.lb.example", "Hostname", "203.0.113.7"), []string{
			`r/addresses: spec.addresses[0].value: "192.0.2.1" is not allowed` + end,
			`r/addresses: spec.addresses[1].value: "lb.example" is not allowed` + end,
			`r/addresses: spec.addresses[2].value: "x.lb.example" is not an address: unexpected character (at "x.lb.example")` + end,
			`r/addresses: spec.addresses[3].value: "203.0.113.7" is not allowed` + end}},
		{"a wildcard", rule, g("Hostname", "*.lb.example"), []string{`r/addresses: spec.addresses[0].value: "*.lb.example" is not allowed` + end}},
		{"another type", rule, g("example.com/Pool", "203.0.113.7", "NamedAddress", "a"), []string{
			`r/addresses: spec.addresses[0].type: "example.com/Pool" is neither IPAddress nor Hostname, and not allowed` + end,
			`r/addresses: spec.addresses[1].type: "NamedAddress" is neither IPAddress nor Hostname, and not allowed` + end}},
		{"no value", rule, g("", "", "Hostname", ""), []string{
			"r/addresses: spec.addresses[0].value: is not set, so the implementation chooses, which is not allowed" + end,
			"r/addresses: spec.addresses[1].value: is not set, so the implementation chooses, which is not allowed" + end}},
		{"nothing", `addresses: {allowed: []}`, g("", "203.0.113.7", "Hostname", "a"), []string{
			`r/addresses: spec.addresses[0].value: "203.0.113.7" is not allowed; the policy allows none`,
			`r/addresses: spec.addresses[1].value: "a" is not allowed; the policy allows none`}},
	})
}

// A ListenerSet does not contain its class, so each match by class covers it, and no exclude by class does.
func TestGatewayClassSelectors(t *testing.T) {
	for name, test := range map[string]struct {
		selector, class string
		applies         bool
	}{
		"matched":                   {"match: {gatewayClassNames: [edge]}", "edge", true},
		"not matched":               {"match: {gatewayClassNames: [edge]}", "internal", false},
		"a ListenerSet":             {"match: {gatewayClassNames: [edge]}", "", true},
		"excluded":                  {`exclude: {gatewayClassNames: ["ed*"]}`, "edge", false},
		"not excluded":              {`exclude: {gatewayClassNames: ["ed*"]}`, "internal", true},
		"a ListenerSet is excluded": {`exclude: {gatewayClassNames: ["*"]}`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, gatewaysRule("hosts: {required: true}\n  "+test.selector))
			g := withListeners("")
			g.ClassName = test.class
			got := must(Gateways.Evaluate(p, createGateway, &g, nil, nil))
			if applies := len(got) > 0; applies != test.applies {
				t.Errorf("got %v", got)
			}
		})
	}
}

// An update of a Gateway with pre-existing findings. want contains the introduced findings.
func TestGatewayRatchet(t *testing.T) {
	listener := func(name, host, protocol string) object.Listener {
		return object.Listener{Name: name, Hostname: host, Protocol: protocol}
	}
	gateway := func(ls ...object.Listener) object.Gateway { return object.Gateway{Listeners: ls} }
	all := &object.ListenerNamespaces{From: "All"}
	for name, test := range map[string]struct {
		rule     string
		old, new object.Gateway
		want     []string
	}{
		"hosts: reordered": {`hosts: {allowed: [ok.example]}`, withListeners("a.example", "b.example"), withListeners("b.example", "a.example"), nil},
		"hosts: one added": {`hosts: {allowed: [ok.example]}`, withListeners("a.example"), withListeners("a.example", "b.example"), []string{
			`r/hosts.allowed: spec.listeners[1].hostname: "b.example" is not allowed; allowed: ok.example`}},
		"hosts: removed": {`hosts: {allowed: [ok.example]}`, withListeners("a.example"), withListeners(""), []string{
			`r/hosts.allowed: spec.listeners[0].hostname: no host means every host; allowed: ok.example`}},
		"hosts: absent beside an unreadable one": {`hosts: {required: true}`, withListeners("*"), withListeners("*", ""), []string{
			`r/hosts.required: spec.listeners[1].hostname: no host means every host; set one`}},
		"class: another": {`classNames: {allowed: [ok]}`, object.Gateway{ClassName: "a"}, object.Gateway{ClassName: "b"}, []string{
			`r/classNames.allowed: spec.gatewayClassName: "b" is not allowed; allowed: ok`}},
		"port: the same": {`ports: {allowed: []}`, gateway(object.Listener{Port: 80}), gateway(object.Listener{Name: "x", Port: 80}), nil},
		"protocol: reordered": {`protocols: {allowed: [HTTPS]}`, gateway(listener("a", "", "HTTP"), listener("b", "", "HTTPS")),
			gateway(listener("b", "", "HTTPS"), listener("a", "", "HTTP")), nil},
		"protocol: another listener": {`protocols: {allowed: [HTTPS]}`, gateway(listener("a", "", "HTTP")),
			gateway(listener("a", "", "HTTP"), listener("b", "", "HTTP")), []string{
				`r/protocols.allowed: spec.listeners[1].protocol: "HTTP" is not allowed; allowed: HTTPS`}},
		"mode: another listener": {`tls: {modes: [Passthrough]}`, gateway(listener("a", "", "HTTPS")),
			gateway(listener("a", "", "HTTPS"), listener("b", "", "HTTPS")), []string{
				`r/tls.modes: spec.listeners[1].tls.mode: "Terminate" is not allowed; allowed: Passthrough`}},
		"routes: another listener": {`allowedRoutes: {from: [Same]}`, gateway(object.Listener{Name: "a", AllowedRoutes: all}),
			gateway(object.Listener{Name: "a", AllowedRoutes: all}, object.Listener{Name: "b", AllowedRoutes: all}), []string{
				`r/allowedRoutes.from: spec.listeners[1].allowedRoutes.namespaces.from: "All" is not allowed; allowed: Same`}},
		"routes: All by another name": {`allowedRoutes: {from: [Same]}`, gateway(object.Listener{Name: "a", AllowedRoutes: all}),
			gateway(object.Listener{Name: "a", AllowedRoutes: &object.ListenerNamespaces{From: "Selector"}}), nil},
		"listeners: kept": {`allowedListeners: {from: [None]}`, object.Gateway{AllowedListeners: all}, object.Gateway{AllowedListeners: all}, nil},
		"address: another": {`addresses: {allowed: []}`, object.Gateway{Addresses: []object.GatewayAddress{{Type: "", Value: "192.0.2.1"}}},
			object.Gateway{Addresses: []object.GatewayAddress{{Type: "IPAddress", Value: "192.0.2.1"}, {Type: "", Value: "192.0.2.2"}}}, []string{
				`r/addresses: spec.addresses[1].value: "192.0.2.2" is not allowed; the policy allows none`}},
		"reference: another": {`tls: {crossNamespaceRefs: deny}`,
			object.Gateway{BackendCertificate: &object.CertificateRef{Namespace: "b", Name: "c"}}, object.Gateway{FrontendCAs: []object.CertificateRef{{Namespace: "b", Name: "c"}, {Namespace: "b", Name: "d"}}}, []string{
				`r/tls.crossNamespaceRefs: spec.tls.frontend.default.validation.caCertificateRefs[0].namespace: "b" is another namespace, which is denied; refer to one of the same namespace`,
				`r/tls.crossNamespaceRefs: spec.tls.frontend.default.validation.caCertificateRefs[1].namespace: "b" is another namespace, which is denied; refer to one of the same namespace`}},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Update, Namespace: "team-a"}
			equal(t, test.want, denying(must(Gateways.Evaluate(mustLoad(t, gatewaysRule(test.rule)), a, &test.new, &test.old, nil))))
		})
	}
}

// Every check of annotations reads the annotations that a controller puts on the Service of a Gateway. An annotation
// that an update moves from one field to the other is new, because another object gets it.
func TestGatewayAnnotationsInEffect(t *testing.T) {
	const key = "Example.com/x"
	at := map[string]func(value string) object.Gateway{
		"metadata.annotations": func(value string) object.Gateway {
			return object.Gateway{Meta: object.Meta{Annotations: map[string]string{key: value}}}
		},
		infrastructureAnnotations: func(value string) object.Gateway {
			return object.Gateway{
				Meta:                      object.Meta{Annotations: map[string]string{key: "ok"}},
				InfrastructureAnnotations: map[string]string{key: value},
			}
		},
	}
	for check, test := range map[string]struct{ rule, found string }{
		"denied":       {`{denied: ["example.com/x"]}`, `is denied by example.com/x; remove it`},
		"required":     {`{required: [{key: Example.com/x, value: ok}]}`, `"bad" does not match ok`},
		"values":       {`{values: [{key: "*/x", value: ok}]}`, `"bad" does not match ok`},
		"deniedValues": {`{deniedValues: [{key: "*/x", value: bad}]}`, `"bad" matches bad, which is denied`},
	} {
		p := mustLoad(t, gatewaysRule("annotations: "+test.rule))
		for field, with := range at {
			bad, good := with("bad"), with("ok")
			want := `r/annotations.` + check + `: ` + field + `["Example.com/x"]: ` + test.found
			got := sentences(must(Gateways.Evaluate(p, createGateway, &bad, nil, nil)))
			if len(got) == 0 || got[len(got)-1] != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := must(Gateways.Evaluate(p, createGateway, &good, nil, nil)); check != "denied" && len(got) > 0 {
				t.Errorf("%s: a good annotation: %v", check, sentences(got))
			}
			for from, without := range at {
				old := without("bad")
				update := createGateway
				update.Operation = object.Update
				all := must(Gateways.Evaluate(p, update, &bad, &old, nil))
				if last := all[len(all)-1]; last.Existed != (from == field) {
					t.Errorf("%s: from %s to %s: existed is %v", check, from, field, last.Existed)
				}
			}
		}
	}
}

// The evaluation of a Gateway by every check takes a limited number of steps for each of its elements.
func TestGatewayEffort(t *testing.T) {
	p := mustLoad(t, gatewaysRule(`hosts: {required: true, allowed: ["**.ok.example"], denied: [no.example], wildcards: deny, max: 1}
  ports: {allowed: ["443"]}
  protocols: {allowed: [TLS]}
  tls: {modes: [Passthrough], crossNamespaceRefs: deny}
  allowedRoutes: {from: [Same]}
  addresses: {allowed: [203.0.113.0/24]}`))
	g := &object.Gateway{InfrastructureAnnotations: map[string]string{}}
	const n = 1000
	for i := range n {
		name := strconv.Itoa(i)
		g.Listeners = append(g.Listeners, object.Listener{
			Name: name, Hostname: name + ".example", Protocol: "HTTPS",
			TLS:           &object.ListenerTLS{CertificateRefs: []object.CertificateRef{{Namespace: "other", Name: name}}},
			AllowedRoutes: &object.ListenerNamespaces{From: "All"},
		})
		g.Addresses = append(g.Addresses, object.GatewayAddress{Type: "", Value: "192.0.2.1"})
		g.InfrastructureAnnotations[name] = name
	}
	e := new(Effort)
	_, err := Gateways.Evaluate(p, object.Attributes{Operation: object.Update, Namespace: "team-a"}, g, g, e)
	if most := 150 * n; err != nil || e.Steps() > most {
		t.Errorf("%d steps, at most %d: %v", e.Steps(), most, err)
	}
}
