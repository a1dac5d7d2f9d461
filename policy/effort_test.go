package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// reviewed is the object that a row of TestStepsOfElements evaluates.
type reviewed struct {
	rules string // of a policy
	a     object.Attributes
	obj   any
	old   any // of the same type; nil if there is no old object
}

// rewritten is a Pod that is rewritten instead of evaluated.
type rewritten struct{ *object.Pod }

// updated returns an update of old to the object in v.
func updated(v reviewed, old any) reviewed {
	v.old = old
	return v
}

// steps returns the number of steps of the evaluation.
func (v reviewed) steps(t *testing.T) int {
	t.Helper()
	var e Effort
	if err := v.evaluate(t, mustLoad(t, v.rules), &e); err != nil {
		t.Fatal(err)
	}
	return e.Steps()
}

// testExceeded checks that an evaluation with fewer steps than it needs is an error, and never an answer.
func (v reviewed) testExceeded(t *testing.T) {
	t.Helper()
	const limit = 1_000_000 // of an Effort
	p, needed := mustLoad(t, v.rules), v.steps(t)
	for left := range needed + 1 {
		var e Effort
		if err := e.Spend(limit - left); err != nil {
			t.Fatal(err)
		}
		err := v.evaluate(t, p, &e)
		if left == needed && err != nil || left < needed && (err == nil || !strings.Contains(err.Error(), "comparisons")) {
			t.Fatalf("%T: with %d of %d steps: %v", v.obj, left, needed, err)
		}
	}
}

// evaluate evaluates the object.
func (v reviewed) evaluate(t *testing.T, p *Policy, e *Effort) (err error) {
	t.Helper()
	v.a.Operation = object.Create
	if v.old != nil {
		v.a.Operation = object.Update
	}
	switch obj := v.obj.(type) {
	case rewritten:
		_, err = p.RewritePod(v.a, obj.Pod, nil, e)
	case *object.Service:
		err = evaluate(Services, p, v, obj, e)
	case *object.Ingress:
		err = evaluate(Ingresses, p, v, obj, e)
	case *object.Route:
		err = evaluate(Routes, p, v, obj, e)
	case *object.Certificate:
		err = evaluate(Certificates, p, v, obj, e)
	case *object.OpenShiftRoute:
		err = evaluate(OpenShiftRoutes, p, v, obj, e)
	case *object.DNSEndpoint:
		err = evaluate(DNSEndpoints, p, v, obj, e)
	case *object.Gateway:
		err = evaluate(Gateways, p, v, obj, e)
	case *object.Grant:
		err = evaluate(Grants, p, v, obj, e)
	case *object.Workload:
		err = evaluate(Workloads, p, v, obj, e)
	case *object.Pod:
		err = evaluate(Pods, p, v, obj, e)
	default:
		t.Fatalf("no rules for %T", obj)
	}
	return err
}

// evaluate evaluates an object of a kind. The old object of another kind is left out.
func evaluate[O any](k Kind[O], p *Policy, v reviewed, obj *O, e *Effort) error {
	old, _ := v.old.(*O)
	_, err := k.Evaluate(p, v.a, obj, old, e)
	return err
}

// An exceeded Effort is an error for each kind, with and without an old object. TestStepsOfElements tests it for each
// check.
func TestExceededEffort(t *testing.T) {
	text, err := os.ReadFile("../review/reviewtest/costliest/policy.yaml") // it has every check
	if err != nil {
		t.Fatal(err)
	}
	_, rules, _ := strings.Cut(strings.NewReplacer(
		"$name", "a", "$mode", "enforce", "$glob", "x*x", "$regex", ".*x", "$sources", "quay.io", "$i", "1",
	).Replace(string(text)), "EvergatePolicy\n")
	rules, _, _ = strings.Cut(rules, "exceptions:")
	meta := object.Meta{Annotations: map[string]string{"external-dns.kubernetes.io/hostname": "a.example,b.example"}}
	host := []string{"a.example"}
	gateway, routes := withListeners("a.example", "b.example"), createPod
	gateway.Meta, routes.Resource = meta, httpRoutes
	for _, v := range []reviewed{
		{obj: imagePod("quay.io/x", "nginx")},
		{obj: rewritten{imagePod("quay.io/x", "nginx")}},
		{obj: workload(template("quay.io/x", "nginx"))},
		{obj: &object.Ingress{Meta: meta, Rules: []object.IngressRule{{Host: "a.example"}}}},
		{obj: &object.Service{Meta: meta, Type: "LoadBalancer", Ports: make([]object.ServicePort, 1)}},
		{obj: &object.Route{Meta: meta, Hostnames: host, Rules: make([]object.RouteRule, 1)}, a: routes},
		{obj: &object.OpenShiftRoute{Meta: meta, Host: "a.example"}},
		{obj: &gateway},
		{obj: grantOf([]string{"a"}, "x")},
		{obj: &object.Certificate{DNSNames: host}},
		{obj: &object.DNSEndpoint{Meta: meta}},
	} {
		v.rules, v.a.Namespace = rules, "team-a"
		v.testExceeded(t)
		updated(v, v.obj).testExceeded(t)
	}
}

// Each further element that a check reads, and each further pattern that it is compared with, takes a known number of
// steps, because work that is not counted has no limit. Data that several rules need is prepared once. The old object
// is evaluated only if there are findings, once for each check.
func TestStepsOfElements(t *testing.T) {
	each := func(n int, format string) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(format, i)
		}
		return all
	}
	yaml := func(all []string) string { return "['" + strings.Join(all, "', '") + "']" }
	rules := func(n int, kind, fields string) string {
		b := kind + ":\n"
		for i := range n {
			b += fmt.Sprintf("- {name: r%d, mode: audit, %s}\n", i, fields)
		}
		return b
	}
	service := func(fields string, svc *object.Service) reviewed {
		return reviewed{rules: rules(1, "services", fields), obj: svc}
	}
	ingress := func(fields string, ing *object.Ingress) reviewed {
		return reviewed{rules: rules(1, "ingresses", fields), obj: ing}
	}
	annotated := func(keys []string, value string) object.Meta {
		m := object.Meta{Annotations: map[string]string{}}
		for _, key := range keys {
			m.Annotations[key] = value
		}
		return m
	}
	ports := func(n int) *object.Service { return &object.Service{Ports: make([]object.ServicePort, n)} }
	ranges := func(all []string) *object.Service {
		return &object.Service{Type: "LoadBalancer", LoadBalancerSourceRanges: all}
	}
	points := func(n int) *object.Service {
		return &object.Service{LoadBalancerIngress: make([]object.LoadBalancerIngress, n)}
	}
	hosts := func(all []string) *object.Ingress {
		ing := &object.Ingress{}
		for _, h := range all {
			ing.Rules = append(ing.Rules, object.IngressRule{Host: h})
		}
		return ing
	}
	paths := func(n int, path object.IngressPath) *object.Ingress {
		ing := &object.Ingress{Rules: []object.IngressRule{{}}}
		for range n {
			ing.Rules[0].Paths = append(ing.Rules[0].Paths, path)
		}
		return ing
	}
	pod := func(n int) *object.Pod {
		p := &object.Pod{}
		for range n {
			p.Images = append(p.Images, object.Image{Ref: "docker.io/acme/shop0"}) // 20 bytes
		}
		return p
	}
	ofRoute := func(fields string, route object.Route) reviewed {
		return reviewed{rules: rules(1, "routes", fields), a: creatingRoute(""), obj: &route}
	}
	const long, domainName = "%064d", "external-dns.kubernetes.io/hostname"

	for name, test := range map[string]struct {
		want int // steps for each of n
		of   func(n int) reviewed
	}{
		"rules": {2, func(n int) reviewed {
			return reviewed{rules: rules(n, "services", "types: {allowed: []}"), obj: ports(0)}
		}},
		"groups and a pattern": {3, func(n int) reviewed { // one, and two for a pattern
			v := service("exclude: {groups: [a]}, types: {allowed: []}", ports(0))
			v.a.Groups = each(n, "%032d")
			return v
		}},
		"groups and patterns": {7, func(n int) reviewed {
			v := service("match: {groups: [x, y, z]}, types: {allowed: []}", ports(0))
			v.a.Groups = each(n, "%032d")
			return v
		}},
		"bytes of the user, by patterns": {2, func(n int) reviewed {
			v := service("exclude: {users: [a, b]}, types: {allowed: []}", ports(0))
			v.a.User = strings.Repeat("x", 32*n)
			return v
		}},
		"bytes of a label, by entries": {1, func(n int) reviewed {
			p := pod(0)
			p.Labels = map[string]string{"a": strings.Repeat("x", 32*n)}
			return reviewed{rules: rules(1, "pods", "exclude: {podLabels: [a=b]}, images: {digest: required}"), obj: p}
		}},
		"bytes of a label, by images": {10, func(n int) reviewed {
			p := pod(10)
			p.Labels = map[string]string{"a": strings.Repeat("x", 32*n)}
			return reviewed{rules: strings.Replace(hubText, "mode:", "exclude: {podLabels: [a=b]}, mode:", 1), obj: rewritten{p}}
		}},
		"patterns of tags": {10, func(n int) reviewed {
			return reviewed{rules: rules(1, "pods", "images: {deniedTags: "+yaml(each(n, "a%d"))+"}"), obj: pod(10)}
		}},
		"patterns of tags, rewritten": {10, func(n int) reviewed {
			return reviewed{rules: hubText + rules(1, "pods", "images: {deniedTags: "+yaml(each(n, "a%d"))+"}"), obj: rewritten{pod(10)}}
		}},

		"ports":               {1, func(n int) reviewed { return service("ports: {allowed: ['1']}", ports(n)) }},
		"ports and 16 ranges": {2, func(n int) reviewed { return service("ports: {allowed: "+yaml(each(16, "1-%d9"))+"}", ports(n)) }},
		"nodePorts":           {1, func(n int) reviewed { return service("nodePorts: {allowed: []}", ports(n)) }},
		"externalIPs": {3, func(n int) reviewed {
			return service("externalIPs: {allowed: []}", &object.Service{ExternalIPs: each(n, "192.0.2.%d")})
		}},
		"backends": {8, func(n int) reviewed { // two checks with one pattern each
			return ingress("backends: {services: ['*'], ports: ['1-100']}", backends(each(n, "a%d")...))
		}},
		"loadBalancerIPs": {4, func(n int) reviewed {
			list := strings.Join(each(n, "%031d"), ",") // 32 bytes each
			return service("loadBalancerIPs: {allowed: []}", &object.Service{Meta: annotated([]string{"purelb.io/addresses"}, list)})
		}},
		"ranges": {3, func(n int) reviewed {
			return service("loadBalancerSourceRanges: {allowed: []}", ranges(each(n, "192.0.2.%d/32")))
		}},
		"long ranges": {7, func(n int) reviewed { return service("loadBalancerSourceRanges: {allowed: []}", ranges(each(n, long))) }},
		"ranges in the annotation": {4, func(n int) reviewed {
			list := strings.Join(each(n, "%031d"), ",") // 32 bytes each
			return service("loadBalancerSourceRanges: {allowed: []}", &object.Service{Meta: annotated([]string{sourceRangesAnnotation}, list)})
		}},
		"classes": {1, func(n int) reviewed {
			return service("loadBalancerClass: {allowed: "+yaml(each(n, "a/%d"))+"}", &object.Service{LoadBalancerClass: new("a")})
		}},
		"bytes of externalName": {4, func(n int) reviewed {
			return service("externalNames: {}", &object.Service{Type: "ExternalName", ExternalName: strings.Repeat("x", 32*n)})
		}},
		"points: addresses": {3, func(n int) reviewed { return service("loadBalancerStatus: {allowed: []}", points(n)) }},
		"points: hostnames": {2, func(n int) reviewed { return service("loadBalancerStatus: {hostnames: []}", points(n)) }},
		"points: writers":   {1, func(n int) reviewed { return service("loadBalancerStatus: {writers: {users: [a]}}", points(n)) }},
		"points: groups": {2, func(n int) reviewed {
			v := service("loadBalancerStatus: {writers: {groups: [a, b]}}", points(1))
			v.a.Groups = each(n, "g%d")
			return v
		}},

		"annotations.denied": {8, func(n int) reviewed {
			return service("annotations: {denied: [a, b]}", &object.Service{Meta: annotated(each(n, long), "")})
		}},
		"annotations.required": {1, func(n int) reviewed {
			return service("annotations: {required: [{key: '"+strings.Join(each(n, "k%d"), "'}, {key: '")+"'}]}", ports(0))
		}},
		"bytes of required values": {12, func(n int) reviewed {
			return service("annotations: {required: [{key: a, value: '.*'}]}", &object.Service{Meta: annotated([]string{"a"}, strings.Repeat("x", 10*n))})
		}},
		"bytes of values that are too long": {1, func(n int) reviewed {
			return service("annotations: {required: [{key: a, value: '.*'}]}", &object.Service{Meta: annotated([]string{"a"}, strings.Repeat("x", 800+32*n))})
		}},
		"annotations.values": {18, func(n int) reviewed {
			return service("annotations: {values: [{key: '*', value: '.*'}]}", &object.Service{Meta: annotated(each(n, long), "0123456789")})
		}},
		"annotations.deniedValues": {18, func(n int) reviewed {
			return service("annotations: {deniedValues: [{key: '*', value: '.*'}]}", &object.Service{Meta: annotated(each(n, long), "0123456789")})
		}},
		"ingressNginx": {3, func(n int) reviewed {
			return ingress("ingressNginx: {maxRisk: Low}", &object.Ingress{Meta: annotated(each(n, "a%d"), "")})
		}},
		"ingressNginx, of nginx": {4, func(n int) reviewed {
			return ingress("ingressNginx: {maxRisk: Low}", &object.Ingress{Meta: annotated(each(n, "nginx.ingress.kubernetes.io/a%d"), "")})
		}},

		"hosts.allowed":   {3, func(n int) reviewed { return ingress("hosts: {allowed: []}", hosts(each(n, "h%03d.example"))) }},
		"hosts.denied":    {3, func(n int) reviewed { return ingress("hosts: {denied: [a]}", hosts(each(n, "h%03d.example"))) }},
		"hosts.required":  {3, func(n int) reviewed { return ingress("hosts: {required: true}", hosts(each(n, "h%03d.example"))) }},
		"hosts.wildcards": {3, func(n int) reviewed { return ingress("hosts: {wildcards: deny}", hosts(each(n, "h%03d.example"))) }},
		"hosts.max":       {4, func(n int) reviewed { return ingress("hosts: {max: 1}", hosts(each(n, "h%03d.example"))) }},
		"long hosts":      {12, func(n int) reviewed { return ingress("hosts: {required: true}", hosts(each(n, long))) }},
		"hosts in tls": {2, func(n int) reviewed { // one step to read each, one to look it up
			return ingress("hosts: {required: true}", &object.Ingress{Rules: []object.IngressRule{{Host: "a"}}, TLS: []object.IngressTLS{{Hosts: each(n, "h%d")}}})
		}},
		"hosts of a Certificate": {6, func(n int) reviewed { // to read each of 12 bytes, to look it up
			return reviewed{rules: rules(1, "certificates", "hosts: {denied: [a]}"), obj: &object.Certificate{DNSNames: each(n, "h%03d.example")}}
		}},
		"bytes of a common name": {8 + 1, func(n int) reviewed { // to read it, to look it up
			return reviewed{rules: rules(1, "certificates", "hosts: {denied: [a]}"), obj: &object.Certificate{CommonName: "-" + strings.Repeat(".x", 16*n)}}
		}},
		"attributes of a subject": {9, func(n int) reviewed {
			return reviewed{rules: rules(1, "certificates", "hosts: {denied: [a]}"), obj: &object.Certificate{LiteralSubject: strings.Repeat("O=a.bcd,", 4*n)}}
		}},
		"the same name of a Certificate": {1, func(n int) reviewed { // one claim
			names := slices.Repeat([]string{"a.example"}, n)
			return reviewed{rules: rules(1, "certificates", "hosts: {denied: [a]}"), obj: &object.Certificate{DNSNames: names}}
		}},
		"domains of a Route": {4, func(n int) reviewed { // to make a claim of each, to look it up
			text := "subdomainDomains: " + yaml(each(n, "d%03d.example")) + ", hosts: {denied: [a]}"
			return reviewed{rules: rules(1, "routes", text), obj: &object.OpenShiftRoute{Subdomain: "web"}}
		}},
		"backends of a Route": {3, func(n int) reviewed {
			return reviewed{rules: rules(1, "routes", "backends: {kinds: [a, b]}"), obj: &object.OpenShiftRoute{Backends: each(n, "k%d")}}
		}},
		"bytes of the host of a Route": {2 + 1, func(n int) reviewed { // to read it, to look it up as a text that is not a name
			return reviewed{rules: rules(1, "routes", "hosts: {denied: [a]}"), obj: &object.OpenShiftRoute{Host: strings.Repeat("x", 32*n)}}
		}},
		"records of a DNSEndpoint": {6, func(n int) reviewed {
			endpoints := make([]object.Endpoint, n)
			for i, name := range each(n, "h%03d.example") {
				endpoints[i].DNSName = name
			}
			return reviewed{rules: rules(1, "dnsEndpoints", "hosts: {denied: [a]}"), obj: &object.DNSEndpoint{Endpoints: endpoints}}
		}},
		"rules: hosts of a Certificate": {12, func(n int) reviewed {
			return reviewed{rules: rules(n, "certificates", "hosts: {allowed: ['**']}"), obj: &object.Certificate{DNSNames: each(10, "h%d")}}
		}},
		"hostnames of a route": {3, func(n int) reviewed {
			return ofRoute("hosts: {denied: [a]}", object.Route{Hostnames: each(n, "h%03d.example")})
		}},
		"rules: hostnames of a route": {12, func(n int) reviewed {
			return reviewed{rules: rules(n, "routes", "hosts: {allowed: ['**']}"), a: creatingRoute(""), obj: &object.Route{Hostnames: each(10, "h%d")}}
		}},
		"matches": {7, func(n int) reviewed {
			return ofRoute("paths: {types: []}", withMatches(make([]object.RouteMatch, n)...))
		}},
		"rules without matches": {2, func(n int) reviewed {
			return ofRoute("paths: {types: []}", object.Route{Rules: make([]object.RouteRule, n)})
		}},
		"bytes of the names of sessions": {1, func(n int) reviewed {
			return ofRoute("paths: {unsafeCharacters: deny}",
				object.Route{Rules: []object.RouteRule{{SessionName: strings.Repeat("x", 4*n)}}})
		}},
		"parents and patterns": {4, func(n int) reviewed {
			return ofRoute("parents: {allowed: [{name: a}]}", attached(make([]object.RouteParent, n)...))
		}},
		"parents of another namespace": {3, func(n int) reviewed {
			return ofRoute("parents: {crossNamespace: deny}", attached(make([]object.RouteParent, n)...))
		}},
		"backends and patterns": {7, func(n int) reviewed {
			return ofRoute("backends: {kinds: [a]}", sending(make([]object.RouteBackend, n)...))
		}},
		"filters": {1, func(n int) reviewed {
			return ofRoute("filters: {denied: [CORS]}", filtering(make([]object.RouteFilter, n)...))
		}},
		"tls: hosts": {3, func(n int) reviewed { return ingress("tls: {coversHosts: true}", hosts(each(n, "h%03d.example"))) }},
		"tls: certificate": {4, func(n int) reviewed {
			return ingress("tls: {coversHosts: true}", &object.Ingress{TLS: []object.IngressTLS{{Hosts: each(n, "h%d")}}})
		}},
		"classNames": {1, func(n int) reviewed {
			return ingress("classNames: {allowed: "+yaml(each(n, "a%d"))+"}", &object.Ingress{ClassName: new("x")})
		}},

		"paths.types": {2, func(n int) reviewed { return ingress("paths: {types: []}", paths(n, object.IngressPath{Path: "/a"})) }},
		"paths.denied": {3, func(n int) reviewed {
			return ingress("paths: {denied: [x, y]}", paths(n, object.IngressPath{Path: "/a", Type: "Exact"}))
		}},
		"paths.denied, with dots": {7, func(n int) reviewed {
			return ingress("paths: {denied: [xxxxxxxx, yyyyyyyy]}", paths(n, object.IngressPath{Path: "/a.b"}))
		}},
		"paths.denied, by annotations": {1, func(n int) reviewed {
			return ingress("paths: {denied: [x]}", &object.Ingress{Meta: annotated(each(n, "k%d"), "")})
		}},
		"rules: paths.denied": {2, func(n int) reviewed {
			return reviewed{rules: rules(n, "ingresses", "paths: {denied: [x]}"), obj: &object.Ingress{Meta: annotated(each(10, "k%d"), "")}}
		}},
		"paths.deniedPatterns": {9, func(n int) reviewed {
			return ingress("paths: {deniedPatterns: ['.*x', '.*y']}", paths(n, object.IngressPath{Path: "/ab"}))
		}},
		"paths.unsafeCharacters": {3, func(n int) reviewed {
			return ingress("paths: {unsafeCharacters: deny}", paths(n, object.IngressPath{Path: "/abc"}))
		}},

		"images": {8, func(n int) reviewed {
			return reviewed{rules: rules(1, "pods", "images: {digest: required}"), obj: pod(n)}
		}},
		"images, by checks": {12, func(n int) reviewed {
			return reviewed{rules: rules(1, "pods", "images: {digest: required, denied: [a.example]}"), obj: pod(n)}
		}},

		"images, by their pull policies": {12, func(n int) reviewed {
			return reviewed{rules: rules(1, "pods", "images: {pullPolicies: {required: [{images: [a.example], policy: Always}]}}"), obj: pod(n)}
		}},
		"images that are rewritten": {9, func(n int) reviewed { return reviewed{rules: hubText, obj: rewritten{pod(n)}} }},
		"images that are rewritten, by checks": {18, func(n int) reviewed {
			return reviewed{rules: hubText + rules(1, "pods", "images: {denied: [a.example], deniedTags: [a]}"), obj: rewritten{pod(n)}}
		}},

		// A rule and its check take two steps, and the rest is its loop. An object is prepared once for all rules.
		"rules: externalIPs": {12, func(n int) reviewed {
			return reviewed{rules: rules(n, "services", "externalIPs: {allowed: []}"), obj: &object.Service{ExternalIPs: each(10, "%d")}}
		}},
		"rules: ranges": {13 + len(ClientAnnotations()), func(n int) reviewed {
			return reviewed{rules: rules(n, "services", "loadBalancerSourceRanges: {allowed: ['::/0']}"), obj: ranges(each(10, "::%d/128"))}
		}},
		"rules: points": {12, func(n int) reviewed {
			return reviewed{rules: rules(n, "services", "loadBalancerStatus: {allowed: []}"), obj: points(10)}
		}},
		"rules: hosts of a Service that names none": {2, func(n int) reviewed {
			value := strings.Repeat(",", 3200)
			return reviewed{rules: rules(n, "services", "hosts: {max: 1}"), obj: &object.Service{Meta: annotated([]string{domainName}, value)}}
		}},
		"empty elements of an annotation": {33, func(n int) reviewed {
			return service("hosts: {max: 1}", &object.Service{Meta: annotated([]string{domainName}, strings.Repeat(",", 32*n))})
		}},
		"bytes of an annotation in eskip": {9, func(n int) reviewed {
			return ingress("hosts: {max: 1}", &object.Ingress{Meta: annotated([]string{"zalando.org/skipper-routes"}, strings.Repeat("x", 32*n))})
		}},
		"hosts with www": {2, func(n int) reviewed { // to read each of them, and again for the annotation
			ing := hosts(each(n, "*.h%d"))
			ing.Meta = annotated([]string{"nginx.ingress.kubernetes.io/from-to-www-redirect"}, "true")
			return ingress("hosts: {max: 1000}", ing)
		}},
		"bytes of conditions": {33, func(n int) reviewed {
			value := "[" + strings.Repeat("{},     ", 4*n) + "{}]"
			ing := &object.Ingress{Meta: annotated([]string{"alb.ingress.kubernetes.io/conditions.a"}, value)}
			return ingress("hosts: {max: 1}", ing)
		}},
		"hosts with owners": {3, func(n int) reviewed {
			text := "owners:\n- {name: w, mode: audit, hosts: [w.example], namespaces: []}\n"
			return reviewed{rules: text, a: object.Attributes{Namespace: "team"}, obj: hosts(each(n, "h%03d.example"))}
		}},
		"owners of another mode": {4, func(n int) reviewed {
			text := "owners:\n- {name: w, mode: audit, hosts: [w.audit.example], namespaces: []}\n"
			for i := range n {
				text += fmt.Sprintf("- {name: o%d, mode: enforce, hosts: [h%d.example], namespaces: ['*']}\n", i, i)
			}
			return reviewed{rules: text, a: object.Attributes{Namespace: "team"}, obj: hosts([]string{"*.example"})}
		}},
		"rules: annotations": {12, func(n int) reviewed {
			return reviewed{rules: rules(n, "services", "annotations: {denied: [a]}"), obj: &object.Service{Meta: annotated(each(10, "k%d"), "")}}
		}},
		"rules: hosts": {12, func(n int) reviewed {
			return reviewed{rules: rules(n, "ingresses", "hosts: {allowed: ['**']}"), obj: hosts(each(10, "h%d"))}
		}},
		"rules: hosts.max": {2, func(n int) reviewed {
			return reviewed{rules: rules(n, "ingresses", "hosts: {max: 10}"), obj: hosts(each(10, "h%d"))}
		}},
		"rules: paths": {12, func(n int) reviewed {
			return reviewed{rules: rules(n, "ingresses", "paths: {types: [Exact]}"), obj: paths(10, object.IngressPath{Path: "/a", Type: "Exact"})}
		}},
		"rules: certificates": {3, func(n int) reviewed { // and one host: each
			return reviewed{rules: rules(n, "ingresses", "tls: {coversHosts: true}"), obj: &object.Ingress{TLS: []object.IngressTLS{{Hosts: each(10, "h%d")}}}}
		}},
		"rules: images": {52, func(n int) reviewed {
			return reviewed{rules: rules(n, "pods", "images: {deniedTags: [a]}"), obj: pod(10)}
		}},

		// The old object is evaluated once for each check with a finding.
		"old ports, no finding": {0, func(n int) reviewed {
			return updated(service("ports: {allowed: ['1-9']}", &object.Service{}), ports(n))
		}},
		"old ports, one finding": {4, func(n int) reviewed { return updated(service("ports: {allowed: []}", ports(1)), ports(n)) }},
		"old ports and new ones": {6, func(n int) reviewed { return updated(service("ports: {allowed: []}", ports(n)), ports(n)) }},
		"ranges and two lengths of old ones": {6, func(n int) reviewed {
			return updated(service("loadBalancerSourceRanges: {allowed: []}", ranges(each(n, "192.0.2.%d/32"))), ranges([]string{"10.0.0.0/8", "11.0.0.0/16"}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			test.of(2).testExceeded(t)
			const n = 50
			if got := test.of(2*n).steps(t) - test.of(n).steps(t); got != n*test.want {
				t.Errorf("%d more take %d steps, want %d", n, got, n*test.want)
			}
		})
	}
}
