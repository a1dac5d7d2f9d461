package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Entries that load, but match nothing or do not let any value pass, get a warning.
func TestWarningsOfEntries(t *testing.T) {
	const hub = "mirrors:\n- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}\n"
	service := func(selectors string) string {
		return "services:\n- {name: r, mode: enforce, types: {denied: [NodePort]}, " + selectors + "}\n"
	}
	pods := func(mode, images string) string {
		return "pods:\n- {name: r, mode: " + mode + ", images: {" + images + "}}\n"
	}
	const from = "images.from denies every image that is not written with the name of a mirror: no mirrors entry is in mode " +
		"enforce, so no image is rewritten"
	all := func(dimension string) string {
		return "exclude." + dimension + " has *: the entry applies to nothing; leave the entry out, or set its mode to off"
	}
	const k8s = "- {name: k8s, mode: warn, sources: [registry.k8s.io, k8s.gcr.io], mirror: m.example/k8s}\n"
	const notYet = "images.from denies the images of registry.k8s.io, k8s.gcr.io that are not written with the name of their " +
		"mirror: mirrors entry k8s is in mode warn, so no image is rewritten"
	ingress := func(fields string) string { return "ingresses:\n- {name: r, mode: enforce, " + fields + "}\n" }
	two := func(block, a, b string) string {
		return block + ":\n- {name: a, mode: enforce, " + a + "}\n- {name: r, mode: enforce, " + b + "}\n"
	}
	disjoint := func(field string) string {
		return field + " has nothing in common with the list of a (p:4:3), which applies to the same objects: all rules must pass, " +
			"so no value can; write one rule with both lists"
	}
	const record = "hosts.allowed has **.a.example but not a.example: a DNS record for *.a.example also answers for " +
		"_acme-challenge.a.example, so its author can get certificates for a.example; write wildcards: deny, or allow a.example too"
	for name, test := range map[string]struct{ text, want string }{
		"namespaces of both": {service(`match: {namespaces: [team-a]}, exclude: {namespaces: ["team-*"]}`),
			"exclude.namespaces covers all of match.namespaces: the entry applies to nothing"},
		"the same pattern": {service(`match: {namespaces: ["t-*"]}, exclude: {namespaces: ["t-*"]}`),
			"exclude.namespaces covers all of match.namespaces: the entry applies to nothing"},
		"a minion of another nginx": {two("ingresses", "ingressNginx: {maxRisk: Low}", "tls: {required: true}"),
			"tls allows an Ingress with the annotation nginx.org/mergeable-ingress-type, which ingress-nginx ignores: add it to annotations.denied"},
		"no class nginx":             {two("ingresses", "ingressNginx: {maxRisk: Low}, classNames: {allowed: [internal]}", "tls: {required: true}"), ""},
		"a denied minion":            {two("ingresses", `ingressNginx: {maxRisk: Low}, annotations: {denied: ["nginx.org/*"]}`, "tls: {required: true}"), ""},
		"some namespaces":            {service(`match: {namespaces: [team-a, b]}, exclude: {namespaces: ["team-*"]}`), ""},
		"a wider match":              {service(`match: {namespaces: ["team*"]}, exclude: {namespaces: ["team-*"]}`), ""},
		"all namespaces":             {service(`exclude: {namespaces: [a, "*"]}`), all("namespaces")},
		"all users":                  {service(`exclude: {users: ["*"]}`), all("users")},
		"all namespaces, for a time": {service(`exclude: {namespaces: ["*"], until: 2027-01-31}`), ""},
		"an exception for all": {
			service("") + "exceptions:\n- {name: e, rules: [r], match: {namespaces: [a, \"*\"]}, until: 2027-01-31, reason: x}\n",
			"match covers every namespace: its rules neither deny nor warn until 2027-01-31",
		},
		"an exception for no check": {
			service("") + "exceptions:\n- {name: e, rules: [r/types.denid, r/type*], match: {namespaces: [a]}, until: 2027-01-31, reason: x}\n",
			"rules: no rule has the check of r/types.denid, so the exception has no effect; did you mean types.denied?",
		},
		"an exception for some": {
			service("") + "exceptions:\n- {name: e, rules: [r], match: {namespaces: [\"*\"], users: [a]}, until: 2027-01-31, reason: x}\n",
			"",
		},
		"users of both": {service(`match: {users: [a]}, exclude: {users: [a, b]}`),
			"exclude.users covers all of match.users: the entry applies to nothing"},
		"groups of both": {service(`match: {groups: [dev-a]}, exclude: {groups: ["dev-*"]}`),
			"exclude.groups covers all of match.groups: the entry applies to nothing"},
		"other users": {service(`match: {users: [a, c]}, exclude: {users: [a, b]}`), ""},
		"labels of both": {strings.Replace(hub, "}", ", match: {podLabels: [app=web]}, exclude: {podLabels: [app]}}", 1),
			"exclude.podLabels covers all of match.podLabels: the entry applies to nothing"},
		"another value of a label": {
			strings.Replace(hub, "}", ", match: {podLabels: [app]}, exclude: {podLabels: [app=web]}}", 1), "",
		},
		"all types": {strings.Replace(service(""), "[NodePort]", "[ClusterIP, NodePort, LoadBalancer, ExternalName]", 1),
			"types.denied has all types: no Service passes; if that is meant, write types: {allowed: []}"},
		"no host that is required": {ingress("hosts: {required: true, allowed: []}"),
			"hosts is required, and allowed: [] lets no value pass: no Ingress passes"},
		"no host":                                        {ingress("hosts: {allowed: []}"), ""},
		"a record below a host":                          {ingress("hosts: {allowed: ['**.a.example']}"), record},
		"a record below a host, of Services":             {"services:\n- {name: r, mode: audit, hosts: {allowed: ['**.a.example', '*.b.example']}}\n", record},
		"a record below a host, of Gateways":             {"gateways:\n- {name: r, mode: warn, hosts: {allowed: ['**.a.example']}}\n", record},
		"a record below a host, of DNSEndpoints":         {"dnsEndpoints:\n- {name: r, mode: warn, hosts: {allowed: ['**.a.example'], denied: [a.example, b.example]}}\n", record},
		"a record below a host, of routes":               {"routes:\n- {name: r, mode: warn, hosts: {allowed: ['**.a.example']}}\n", ""},
		"a record below a host that is allowed":          {ingress("hosts: {allowed: ['**.a.example', '*.example', '**', '**.{namespace}.b.example']}"), ""},
		"a record below a host, without wildcards":       {ingress("hosts: {allowed: ['**.a.example'], wildcards: deny}"), ""},
		"a record below a host, over a denied host":      {ingress("hosts: {allowed: ['**.a.example'], denied: [x.y.a.example]}"), ""},
		"a record below a host, of an entry that is off": {strings.Replace(ingress("hosts: {allowed: ['**.a.example']}"), "enforce", "off", 1), ""},
		"unknown classes": {
			"ingresses:\n- {name: a, mode: audit, hosts: {allowed: [x.example, '*.a.example']}}\n" +
				"- {name: r, mode: enforce, match: {classNames: [internal]}, classNames: {allowed: [alb, nginx, traefik, '*', 'public-*']}}\n",
			`unknown classes public-*, internal: hosts.allowed of a has a wildcard, which their controllers may serve at any depth; ` +
				`add them to globbingClasses, as "!public-*" if * is one label`,
		},
		"unknown classes that are listed": {
			"globbingClasses: ['int*', '!public-*']\ningresses:\n- {name: r, mode: enforce, hosts: {allowed: ['*.{namespace}.example']}, classNames: {allowed: [internal, 'public-*', public-a]}}\n", "",
		},
		"unknown classes, no wildcard": {ingress("hosts: {allowed: [a.example, '**.{namespace}.example']}, classNames: {allowed: [internal]}"), ""},
		"unknown classes, wildcards denied": {
			ingress("hosts: {allowed: ['*.a.example'], wildcards: deny}, classNames: {allowed: [internal]}"), "",
		},
		"hosts of other namespaces": {ingress(`hosts: {allowed: ["*.{namespace}.x.example", "{namespace}.apps.x.example"]}`),
			"hosts.allowed has *.{namespace}.x.example and {namespace}.apps.x.example: by one of them the namespace apps can use hosts " +
				"that other namespaces can use by the other; put {namespace} before the same number of labels"},
		"hosts of other namespaces, the other way round": {ingress(`hosts: {allowed: ["{namespace}.apps.x.example", "**.{namespace}.x.example"]}`),
			"hosts.allowed has {namespace}.apps.x.example and **.{namespace}.x.example: by one of them the namespace apps can use hosts " +
				"that other namespaces can use by the other; put {namespace} before the same number of labels"},
		"hosts of other namespaces, of Services": {
			"services:\n- {name: r, mode: enforce, hosts: {allowed: ['**.{namespace}.x.example', 'www.{namespace}.apps.x.example']}}\n",
			"hosts.allowed has **.{namespace}.x.example and www.{namespace}.apps.x.example: by one of them the namespace apps can use " +
				"hosts that other namespaces can use by the other; put {namespace} before the same number of labels",
		},
		"hosts of one namespace by two templates": {ingress(`hosts: {allowed: ["{namespace}.x.example", "**.{namespace}.x.example"]}`), ""},
		"hosts of other depths":                   {ingress(`hosts: {allowed: ["{namespace}.x.example", "{namespace}.apps.x.example"]}`), ""},
		"hosts of other domains":                  {ingress(`hosts: {allowed: ["*.{namespace}.x.example", "{namespace}.apps.y.example"]}`), ""},
		"hosts of two rules with templates": {
			two("ingresses", "hosts: {allowed: ['*.{namespace}.a.example']}", "hosts: {allowed: ['{namespace}.b.example']}"), disjoint("hosts.allowed"),
		},
		"hosts of two rules with templates that meet": {
			two("ingresses", "hosts: {allowed: ['*.{namespace}.a.example']}", "hosts: {allowed: ['x.y.a.example']}"), "",
		},
		"no host of a route that is required": {"routes:\n- {name: r, mode: enforce, hosts: {required: true, allowed: []}}\n",
			"hosts is required, and allowed: [] lets no value pass: no HTTPRoute, GRPCRoute or TLSRoute passes"},
		"hosts of other namespaces, of routes": {
			"routes:\n- {name: r, mode: enforce, hosts: {allowed: ['**.{namespace}.x.example', '{namespace}.apps.x.example']}}\n",
			"hosts.allowed has **.{namespace}.x.example and {namespace}.apps.x.example: by one of them the namespace apps can use " +
				"hosts that other namespaces can use by the other; put {namespace} before the same number of labels",
		},
		"hosts of two rules for routes": {
			two("routes", "hosts: {allowed: ['**.a.example']}", "hosts: {allowed: ['**.b.example']}"), disjoint("hosts.allowed"),
		},
		"hosts of two rules for routes of other kinds": {
			two("routes", "kinds: [HTTPRoute], hosts: {allowed: ['**.a.example']}", "kinds: [TLSRoute], hosts: {allowed: ['**.b.example']}"), "",
		},
		"values of a route": {
			"routes:\n- {name: r, mode: enforce, annotations: {values: [{key: a/b, value: x.*}], deniedValues: [{key: a/b, value: x.*}]}}\n",
			"annotations.values and annotations.deniedValues have the same expression for a/b: no value passes",
		},
		"no class that is required": {ingress("classNames: {required: true, allowed: []}"),
			"classNames is required, and allowed: [] lets no value pass: no Ingress passes"},
		"values and denied values": {ingress("annotations: {values: [{key: a/b, value: x.*}], deniedValues: [{key: a/b, value: x.*}]}"),
			"annotations.values and annotations.deniedValues have the same expression for a/b: no value passes"},
		"required values and denied ones": {
			ingress("annotations: {required: [{key: a/b, value: x}], deniedValues: [{key: 'a/*', value: x}]}"),
			"annotations.required and annotations.deniedValues have the same expression for a/b: no object passes",
		},
		"a prefix as a denied key": {ingress("annotations: {denied: [nginx.ingress.kubernetes.io]}"),
			"annotations has the key nginx.ingress.kubernetes.io, which does not cover the annotations with this prefix: write nginx.ingress.kubernetes.io/*"},
		"a prefix with a slash as a key of values": {ingress("annotations: {values: [{key: corp/, value: x}]}"),
			"annotations has the key corp, which does not cover the annotations with this prefix: write corp/*"},
		"a prefix as a key of a Service": {
			"services:\n- {name: r, mode: enforce, annotations: {deniedValues: [{key: a.example, value: x}]}}\n",
			"annotations has the key a.example, which does not cover the annotations with this prefix: write a.example/*",
		},
		"whole keys": {ingress("annotations: {denied: [domainName, a.example/b, 'a.example/*', '*.example']}"), ""},
		"a star in a denied path": {ingress("paths: {denied: ['/Admin/*']}"),
			`paths.denied has "/admin/*": it is not a pattern, so it denies only paths that contain exactly this text; write "/admin", or use deniedPatterns`},
		"a regular expression in a denied path of a route": {
			"routes:\n- {name: r, mode: enforce, paths: {denied: ['^/admin.*$']}}\n",
			`paths.denied has "^/admin.*$": it is not a pattern, so it denies only paths that contain exactly this text; write "/admin", or use deniedPatterns`,
		},
		"punctuation in denied paths": {ingress("paths: {denied: ['*', '/*', '${', /admin, 'a.b']}"), ""},
		"values of other keys":        {ingress("annotations: {values: [{key: a/b, value: x}], deniedValues: [{key: a/c, value: x}]}"), ""},
		"an allowed tag that is denied": {pods("warn", `allowed: ["docker.io/a:1-rc"], deniedTags: ["*-rc"]`),
			"images.allowed has docker.io/library/a:1-rc, and images.deniedTags denies its tag, by *-rc: it does not pass"},
		"another tag": {pods("warn", `allowed: ["docker.io/a:1", docker.io/b], deniedTags: ["*-rc"]`), ""},
		"mirrors that are denied": {hub + pods("enforce", "from: mirrors, denied: [m.example]"),
			"images.denied covers all mirrors, and images.from demands one: no image passes"},
		"a mirror that is denied": {hub + strings.Replace(k8s, "warn", "enforce", 1) + pods("enforce", "from: mirrors, denied: [m.example/hub]"), ""},
		"types of two rules": {two("services", "types: {allowed: [ClusterIP]}", "types: {allowed: [NodePort, LoadBalancer]}"),
			disjoint("types.allowed")},
		"types of two rules that meet": {
			two("services", "types: {allowed: [ClusterIP]}", "types: {allowed: [NodePort, ClusterIP]}"), "",
		},
		"types of other namespaces": {two("services", "types: {allowed: [ClusterIP]}, match: {namespaces: [a]}",
			"types: {allowed: [NodePort]}, match: {namespaces: [b]}"), ""},
		"types of the same namespaces": {two("services", "types: {allowed: [ClusterIP]}, match: {namespaces: [a]}",
			"types: {allowed: [NodePort]}, match: {namespaces: [a]}"), disjoint("types.allowed")},
		"types of other users": {two("services", "types: {allowed: [ClusterIP]}, exclude: {users: [a]}",
			"types: {allowed: [NodePort]}, exclude: {users: [b]}"), ""},
		"types of which none is allowed": {two("services", "types: {allowed: [ClusterIP]}", "types: {allowed: []}"), ""},
		"types of a rule that warns": {
			strings.Replace(two("services", "types: {allowed: [ClusterIP]}", "types: {allowed: [NodePort]}"), "enforce", "warn", 1), "",
		},
		"hosts of two rules": {two("ingresses", "hosts: {allowed: ['*.a.example', b.example]}", "hosts: {allowed: [a.example, '*.b.example']}"),
			disjoint("hosts.allowed")},
		"hosts of two rules that meet": {
			two("ingresses", "hosts: {allowed: [x.a.example]}", "hosts: {allowed: ['*.a.example']}"), "",
		},
		"hosts of two rules at any depth": {
			two("ingresses", "hosts: {allowed: ['**.a.example', a.example]}", "hosts: {allowed: ['**.b.example', b.example]}"),
			disjoint("hosts.allowed"),
		},
		"hosts of two rules, one below another": {
			two("ingresses", "hosts: {allowed: ['**.a.example', a.example]}", "hosts: {allowed: ['x.y.a.example', '**.b.example', b.example]}"), "",
		},
		"images of two rules": {two("pods", "images: {allowed: [ghcr.io/a, 'quay.io:1234/b']}", "images: {allowed: [ghcr.io/b, quay.io]}"),
			disjoint("images.allowed")},
		"types of matched users": {two("services", "types: {allowed: [ClusterIP]}, match: {users: [a]}",
			"types: {allowed: [NodePort]}, match: {users: [b]}"), ""},
		"images of a rule with mirrors": {hub + two("pods", "images: {allowed: [m.example/hub]}",
			"images: {from: mirrors, allowed: [ghcr.io/a]}"), ""},
		"images of two rules that meet": {
			two("pods", "images: {allowed: [ghcr.io/a]}", "images: {allowed: ['ghcr.io/*']}"), "",
		},
		"classes of load balancers of two rules": {
			two("services", "loadBalancerClass: {allowed: [a]}", "loadBalancerClass: {allowed: [b]}"), disjoint("loadBalancerClass.allowed"),
		},
		"an entry that is off": {strings.Replace(service(`exclude: {users: ["*"]}`), "enforce", "off", 1), ""},
		"a source that is excluded": {strings.Replace(hub, "}", ", exclude: {images: [docker.io]}}", 1),
			"exclude.images covers the source docker.io: no image of it is rewritten"},
		"a part of a source":             {strings.Replace(hub, "}", ", exclude: {images: [docker.io/acme]}}", 1), ""},
		"from without mirrors":           {pods("enforce", "from: mirrors"), from},
		"from with mirrors in warn":      {strings.Replace(hub, "enforce", "warn", 1) + pods("enforce", "from: mirrors"), from},
		"from with mirrors that are off": {strings.Replace(hub, "enforce", "off", 1) + pods("enforce", "from: mirrors"), from},
		"from with some mirrors in warn": {hub + k8s + pods("enforce", "from: mirrors"), notYet},
		"from with mirrors in warn that some Pods have": {
			hub + strings.Replace(k8s, "}", ", match: {namespaces: [a]}}", 1) + pods("enforce", "from: mirrors"), "",
		},
		"from with mirrors in warn whose sources are allowed": {
			hub + k8s + pods("enforce", "from: mirrors, allowed: [registry.k8s.io, k8s.gcr.io]"), "",
		},
		"from in warn":      {pods("warn", "from: mirrors"), ""},
		"from with mirrors": {hub + pods("enforce", "from: mirrors"), ""},
		"allowed and denied": {pods("enforce", "allowed: [ghcr.io/acme, quay.io], denied: [ghcr.io]"),
			"images.allowed has ghcr.io/acme, and images.denied covers it: no image of it passes"},
		"a part of what is allowed": {pods("enforce", "allowed: [ghcr.io], denied: [ghcr.io/acme]"), ""},
		"allowed behind a mirror": {hub + pods("enforce", "allowed: [docker.io/library]"),
			"images.allowed has docker.io/library, and mirrors entry hub rewrites its images to m.example/hub/library, which is " +
				"not allowed: allow m.example/hub/library too, or write from: mirrors"},
		"allowed at the mirror": {hub + pods("enforce", "allowed: [docker.io/library, m.example/hub]"), ""},
		"allowed beside from":   {hub + pods("enforce", "from: mirrors, allowed: [docker.io/library]"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Load(policyFile("p", test.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range p.Warnings() {
				_, sentence, _ := strings.Cut(w, "]: ")
				got = append(got, sentence)
			}
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
