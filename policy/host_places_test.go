package policy

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// objectWith returns an object of a kind that has the host ok.example, and further hosts in fields and annotations.
func objectWith(kind string, hosts map[string]string) any {
	meta, infrastructure := object.Meta{Annotations: map[string]string{}}, map[string]string{}
	for place, value := range hosts {
		if key, ok := strings.CutPrefix(place, "infrastructure "); ok {
			infrastructure[key] = value
		} else {
			meta.Annotations[place] = value
		}
	}
	list := []string{"ok.example"}
	if host := hosts["field"]; host != "" {
		list = append(list, host)
	}
	switch kind {
	case "Ingress":
		ing := withHosts(list...)
		ing.Meta = meta
		if host := hosts["tls"]; host != "" {
			ing.TLS = []object.IngressTLS{{Hosts: []string{host}}}
		}
		return ing
	case "Service":
		return &object.Service{Meta: meta}
	case "Route":
		return &object.OpenShiftRoute{Meta: meta, Host: list[len(list)-1]}
	case "Gateway":
		g := &object.Gateway{Meta: meta, InfrastructureAnnotations: infrastructure}
		for _, host := range list {
			g.Listeners = append(g.Listeners, object.Listener{Hostname: host})
		}
		return g
	case "DNSEndpoint":
		e := &object.DNSEndpoint{}
		for _, host := range list {
			e.Endpoints = append(e.Endpoints, object.Endpoint{DNSName: host, RecordType: "A"})
		}
		for _, name := range slices.Sorted(maps.Keys(meta.Annotations)) {
			e.Endpoints[0].Properties = append(e.Endpoints[0].Properties, object.EndpointProperty{Name: name, Value: hosts[name]})
		}
		return e
	case "Certificate":
		crt := &object.Certificate{DNSNames: list, CommonName: hosts["common"], LiteralSubject: hosts["subject"]}
		if uri := hosts["uri"]; uri != "" {
			crt.URIs = []string{uri}
		}
		return crt
	}
	return &object.Route{Meta: meta, Hostnames: list}
}

// valuesOf returns the values by which each place in an object of a kind claims a host.
func valuesOf(t *testing.T, kind, host string) map[string]string {
	t.Helper()
	values := map[string]string{"field": host}
	switch kind {
	case "Ingress":
		values["tls"] = host
	case "Service":
		delete(values, "field")
	case "Certificate":
		return map[string]string{"field": host, "common": host, "subject": "O=a,CN=" + host, "uri": "https://" + host}
	}
	doc := must(Describe(policyFile("p", "services: [{name: s, mode: enforce, hosts: {allowed: []}}]\n")))
	add := func(prefix, kind string) {
		for _, a := range doc.HostAnnotations[kind] {
			key := prefix + strings.ReplaceAll(a.Key, "*", "a")
			switch a.Grammar {
			case "addresses", "any", "www", "eskip", "pathmatcher", "target", "nginxconf": // they do not contain the host
			case "alb":
				values[key] = `[{"hostHeaderConfig":{"values":["` + host + `"]}}]`
			case "uris", "url":
				values[key] = "https://" + host
			default:
				values[key] = host
			}
		}
	}
	add("", kind)
	if kind == "Gateway" {
		add("", "Service")
		add("infrastructure ", "Service")
	}
	return values
}

// deniesUpdate reports whether the policy denies an update of an object.
func deniesUpdate(p *Policy, old, obj any) bool {
	return slices.ContainsFunc(findingsOfUpdate(p, old, obj), Finding.Denies)
}

// A host that is added to a place, next to another place that has it already, is compared with the old object like a
// host that moves to the place. Only the place that another one repeats has no sentence.
func TestEachPairOfHostPlaces(t *testing.T) {
	for _, rules := range []string{
		"BLOCK: [{name: r, mode: enforce, hosts: {allowed: [ok.example]}}]",
		"BLOCK: [{name: r, mode: enforce, hosts: {denied: ['**.corp']}}]",
		"owners: [{name: o, mode: enforce, hosts: ['**.corp'], namespaces: []}]",
	} {
		for kind, block := range map[string]string{
			"Ingress": "ingresses", "Service": "services", "HTTPRoute": "routes", "Route": "routes", "Gateway": "gateways",
			"DNSEndpoint": "dnsEndpoints", "Certificate": "certificates",
		} {
			p := mustLoad(t, strings.Replace(rules, "BLOCK", block, 1)+"\n")
			for _, host := range []string{"x.corp", "_dmarc.x.corp"} {
				values := valuesOf(t, kind, host)
				for from := range values {
					for to := range values {
						both := map[string]string{from: values[from], to: values[to]}
						old := objectWith(kind, map[string]string{from: values[from]})
						moved := deniesUpdate(p, old, objectWith(kind, map[string]string{to: values[to]}))
						if got := deniesUpdate(p, old, objectWith(kind, both)); got != moved {
							t.Errorf("%s %s: %s is added to %s, next to %s: denied %t, want %t", kind, rules, host, to, from, got, moved)
						}
					}
				}
			}
		}
	}
}

// An object with too many hosts in annotations must not add hosts to them. Other updates do not introduce a finding.
func TestTooManyHostsAreCompared(t *testing.T) {
	const first, last = "external-dns.kubernetes.io/hostname", "nginx.ingress.kubernetes.io/server-alias"
	many := strings.Repeat("x.corp,", 1001)
	p := mustLoad(t, `
hostAnnotations: [{key: nginx.ingress.kubernetes.io/server-alias, kinds: [Service, HTTPRoute, Route, Gateway, DNSEndpoint], grammar: dns}]
ingresses: [{name: i, mode: enforce, hosts: {allowed: [ok.example]}}]
services: [{name: s, mode: enforce, hosts: {allowed: [ok.example]}}]
routes: [{name: r, mode: enforce, hosts: {allowed: [ok.example]}}]
gateways: [{name: g, mode: enforce, hosts: {allowed: [ok.example]}}]
dnsEndpoints: [{name: d, mode: enforce, hosts: {allowed: [ok.example]}}]
`)
	key := map[string]string{"DNSEndpoint": "external-dns.kubernetes.io/cloudflare-custom-hostname"}
	for _, kind := range []string{"Ingress", "Service", "HTTPRoute", "Route", "Gateway", "DNSEndpoint"} {
		first := cmp.Or(key[kind], first)
		old := objectWith(kind, map[string]string{first: many})
		for name, test := range map[string]struct {
			hosts  map[string]string
			denied bool
		}{
			"the same":           {map[string]string{first: many, "example.com/a": "b"}, kind == "DNSEndpoint"},
			"another host":       {map[string]string{first: many + "y.corp"}, true},
			"another annotation": {map[string]string{first: many, last: "y.corp"}, true},
			"fewer hosts":        {map[string]string{first: many[:len(many)-7*500]}, false},
		} {
			if got := deniesUpdate(p, old, objectWith(kind, test.hosts)); got != test.denied {
				t.Errorf("%s: %s: denied %t, want %t", kind, name, got, test.denied)
			}
		}
	}
}

// The hosts that annotations derive from the hosts in fields are compared too. A host with the words of the message
// about too many hosts does not hide the others.
func TestTooManyDerivedHostsAreCompared(t *testing.T) {
	p := mustLoad(t, "ingresses: [{name: i, mode: enforce, hosts: {allowed: ['*.example']}}]\n")
	words := strings.Repeat("x.corp,", 999) + "more than 1000 names,y.corp"
	for name, test := range map[string]struct{ key, host, value, newValue string }{
		"www":    {"nginx.ingress.kubernetes.io/from-to-www-redirect", "a.example", "true", "true"},
		"target": {"external-dns.kubernetes.io/target", "*.example", "192.0.2.1", "192.0.2.1"},
		"words":  {"cert-manager.io/alt-names", "a.example", words, words + ",z.corp"},
	} {
		old, obj := withHosts(slices.Repeat([]string{test.host}, 1001)...), withHosts(slices.Repeat([]string{test.host}, 1001)...)
		old.Annotations, obj.Annotations = map[string]string{test.key: test.value}, map[string]string{test.key: test.value}
		if deniesUpdate(p, old, obj) {
			t.Errorf("%s: the same hosts are denied", name)
		}
		withTLS(old, "b.example") // ingress-nginx doesn't derive a host from it
		obj.Rules, obj.Annotations[test.key] = append(obj.Rules, object.IngressRule{Host: "b.example"}), test.newValue
		if !deniesUpdate(p, old, obj) {
			t.Errorf("%s: an added host is allowed", name)
		}
	}
}
