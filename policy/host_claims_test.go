package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// Every field that contains hosts, with the hosts that it claims.
func TestHostClaims(t *testing.T) {
	annotated := func(key, value string) *object.Ingress {
		return &object.Ingress{Meta: object.Meta{Annotations: map[string]string{key: value}}, Rules: []object.IngressRule{{Host: "a.example"}}}
	}
	for name, test := range map[string]struct {
		ing  *object.Ingress
		want []string // in addition to the rule a.example
	}{
		"tls": {
			withTLS(withHosts("a.example"), "b.example", "*.c.example", "10.0.0.1", ""),
			[]string{"spec.tls[0].hosts[0] b.example", "spec.tls[0].hosts[1] *.c.example", "spec.tls[0].hosts[2] 10.0.0.1"},
		},
		"default backend": {
			&object.Ingress{DefaultBackend: true, Rules: []object.IngressRule{{Host: "a.example"}}}, []string{"spec.defaultBackend **"},
		},
		"external-dns": {
			annotated("external-dns.kubernetes.io/hostname", " B.example. ,, *.c.example"),
			[]string{`metadata.annotations["external-dns.kubernetes.io/hostname"] b.example`, `metadata.annotations["external-dns.kubernetes.io/hostname"] **.c.example`},
		},
		"external-dns, the prefix before": {
			annotated("external-dns.alpha.kubernetes.io/hostname", "_sip._tcp.example"),
			[]string{
				`metadata.annotations["external-dns.alpha.kubernetes.io/hostname"] example`,
				`metadata.annotations["external-dns.alpha.kubernetes.io/hostname"] **.example`,
			},
		},
		"external-dns, which names count": {annotated("external-dns.kubernetes.io/ingress-hostname-source", "annotation-only"), nil},
		"cert-manager": {
			annotated("cert-manager.io/alt-names", "b.example, *.c.example"),
			[]string{`metadata.annotations["cert-manager.io/alt-names"] b.example`, `metadata.annotations["cert-manager.io/alt-names"] *.c.example`},
		},
		"cert-manager, the common name": {
			annotated("cert-manager.io/common-name", "b.example"), []string{`metadata.annotations["cert-manager.io/common-name"] b.example`},
		},
		"cert-manager, a common name that is no name": {annotated("cert-manager.io/common-name", "My Service"), nil},
		"cert-manager, a star in it": {
			annotated("cert-manager.io/common-name", "* example"), []string{`metadata.annotations["cert-manager.io/common-name"] **`},
		},
		"cert-manager, blanks in another": {
			annotated("cert-manager.io/alt-names", "My Service"), []string{`metadata.annotations["cert-manager.io/alt-names"] **`},
		},
		"ingress-nginx": {
			annotated("nginx.ingress.kubernetes.io/server-alias", "b.example,*.c.example,.d.example,www.e.*,~^f"),
			[]string{
				`metadata.annotations["nginx.ingress.kubernetes.io/server-alias"] b.example`,
				`metadata.annotations["nginx.ingress.kubernetes.io/server-alias"] **.c.example`,
				`metadata.annotations["nginx.ingress.kubernetes.io/server-alias"] d.example`,
				`metadata.annotations["nginx.ingress.kubernetes.io/server-alias"] **.d.example`,
				`metadata.annotations["nginx.ingress.kubernetes.io/server-alias"] **`,
				`metadata.annotations["nginx.ingress.kubernetes.io/server-alias"] **`,
			},
		},
		"ingress-nginx, www":                 {annotated("nginx.ingress.kubernetes.io/from-to-www-redirect", "true"), []string{`metadata.annotations["nginx.ingress.kubernetes.io/from-to-www-redirect"] www.a.example`}},
		"ingress-nginx, www as Go parses it": {annotated("nginx.ingress.kubernetes.io/from-to-www-redirect", "T"), []string{`metadata.annotations["nginx.ingress.kubernetes.io/from-to-www-redirect"] www.a.example`}},
		"ingress-nginx, no www":              {annotated("nginx.ingress.kubernetes.io/from-to-www-redirect", "false"), nil},
		"haproxy-ingress":                    {annotated("haproxy-ingress.github.io/server-alias", "*.b.example"), []string{`metadata.annotations["haproxy-ingress.github.io/server-alias"] *.b.example`}},
		"haproxy-ingress, regex":             {annotated("ingress.kubernetes.io/server-alias-regex", "^b"), []string{`metadata.annotations["ingress.kubernetes.io/server-alias-regex"] **`}},
		"AWS": {
			annotated("alb.ingress.kubernetes.io/conditions.web", `[{"field":"path-pattern","pathPatternConfig":{"values":["/x"]}},`+
				`{"field":"host-header","hostHeaderConfig":{"values":["b.example","*.c.example","?.d.example"],"regexValues":["^e","f.example"]}}]`),
			[]string{
				`metadata.annotations["alb.ingress.kubernetes.io/conditions.web"] b.example`,
				`metadata.annotations["alb.ingress.kubernetes.io/conditions.web"] **.c.example`,
				`metadata.annotations["alb.ingress.kubernetes.io/conditions.web"] **`,
				`metadata.annotations["alb.ingress.kubernetes.io/conditions.web"] **`,
				`metadata.annotations["alb.ingress.kubernetes.io/conditions.web"] **`,
			},
		},
		"AWS, no JSON":        {annotated("alb.ingress.kubernetes.io/conditions.web", "["), []string{`metadata.annotations["alb.ingress.kubernetes.io/conditions.web"] **`}},
		"AWS, not a host":     {annotated("alb.ingress.kubernetes.io/actions.web", `{"type":"redirect"}`), nil},
		"Traefik":             {annotated("traefik.ingress.kubernetes.io/Router.TLS.domains.0.SANs", "b.example,*.c.example"), []string{`metadata.annotations["traefik.ingress.kubernetes.io/Router.TLS.domains.0.SANs"] b.example`, `metadata.annotations["traefik.ingress.kubernetes.io/Router.TLS.domains.0.SANs"] *.c.example`}},
		"Kong":                {annotated("konghq.com/host-aliases", "*.b.example,b.*"), []string{`metadata.annotations["konghq.com/host-aliases"] **.b.example`, `metadata.annotations["konghq.com/host-aliases"] **`}},
		"Application Gateway": {annotated("appgw.ingress.kubernetes.io/hostname-extension", "b.example"), []string{`metadata.annotations["appgw.ingress.kubernetes.io/hostname-extension"] b.example`}},
		"Skipper":             {annotated("zalando.org/skipper-predicate", "Host(/^b/)"), []string{`metadata.annotations["zalando.org/skipper-predicate"] **`}},
		"Skipper, any host":   {annotated("zalando.org/skipper-predicate", `Path("/b") && HostAny("b.example")`), []string{`metadata.annotations["zalando.org/skipper-predicate"] **`}},
		"Skipper, forwarded":  {annotated("zalando.org/skipper-routes", `r: ForwardedHost("b") -> <shunt>`), []string{`metadata.annotations["zalando.org/skipper-routes"] **`}},
		"Skipper, a text":     {annotated("zalando.org/skipper-predicate", `Header("X-Host", "\"Host(") && Path("/Host")`), nil},
		"Skipper, no word":    {annotated("zalando.org/skipper-predicate", `Ho"x"st("a")`), nil},
		"Skipper, a filter":   {annotated("zalando.org/skipper-routes", `r: * -> setRequestHeader("Host", "b") -> <shunt>`), nil},
		"Skipper, a quote in a regular expression": {annotated("zalando.org/skipper-predicate", `PathRegexp(/"/) && Host(/b"/)`), []string{`metadata.annotations["zalando.org/skipper-predicate"] **`}},
		"Skipper, a comment":                       {annotated("zalando.org/skipper-routes", "// \"\nr: Host(`b`) -> \"x\""), []string{`metadata.annotations["zalando.org/skipper-routes"] **`}},
		"Skipper, a backquote":                     {annotated("zalando.org/skipper-predicate", "Path(`\"`) && Host(`\"`)"), []string{`metadata.annotations["zalando.org/skipper-predicate"] **`}},
		"Skipper, no last quote":                   {annotated("zalando.org/skipper-predicate", `Path(" && Host(b)`), []string{`metadata.annotations["zalando.org/skipper-predicate"] **`}},
		"Skipper, a path":                          {annotated("zalando.org/skipper-predicate", `Path("/b")`), nil},
		"of Services alone":                        {annotated("external-dns.kubernetes.io/internal-hostname", "b.example"), nil},
		"another":                                  {annotated("example.com/hostname", "b.example"), nil},
		"a name of two dots":                       {annotated("external-dns.kubernetes.io/hostname", "b..example"), []string{`metadata.annotations["external-dns.kubernetes.io/hostname"] **`}},
		"two dots at the end":                      {annotated("external-dns.kubernetes.io/hostname", "b.example.."), []string{`metadata.annotations["external-dns.kubernetes.io/hostname"] **`}},
		"a blank within":                           {annotated("external-dns.kubernetes.io/hostname", "b.exam ple"), []string{`metadata.annotations["external-dns.kubernetes.io/hostname"] **`}},
		"a carriage return":                        {annotated("nginx.ingress.kubernetes.io/server-alias", "b.example\rc.example"), []string{`metadata.annotations["nginx.ingress.kubernetes.io/server-alias"] **`}},
		"a control character":                      {annotated("external-dns.kubernetes.io/hostname", "b\x0eexample"), []string{`metadata.annotations["external-dns.kubernetes.io/hostname"] **`}},
		"another script":                           {annotated("external-dns.kubernetes.io/hostname", "b。example"), []string{`metadata.annotations["external-dns.kubernetes.io/hostname"] **`}},
		"a port":                                   {annotated("external-dns.kubernetes.io/hostname", "b.example:443"), []string{`metadata.annotations["external-dns.kubernetes.io/hostname"] **`}},
		"a star within":                            {annotated("external-dns.kubernetes.io/hostname", "b.*.example"), []string{`metadata.annotations["external-dns.kubernetes.io/hostname"] **`}},
		"a long name":                              {annotated("external-dns.kubernetes.io/hostname", strings.Repeat("a", 254)), []string{`metadata.annotations["external-dns.kubernetes.io/hostname"] **`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			claims := new(viewIngress(test.ing)).claims(new(rule.Recorder)).list
			for i := range claims[1:] {
				got = append(got, claims[i+1].at.String()+" "+claims[i+1].String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Services have other annotations.
func TestServiceHostClaims(t *testing.T) {
	svc := &object.Service{Meta: object.Meta{Annotations: map[string]string{
		"external-dns.alpha.kubernetes.io/internal-hostname": "a.example",
		"domainName": "b.example", // as external-dns writes it
		"load-balancer.hetzner.cloud/http-managed-certificate-domains": "*.c.example",
		"nginx.ingress.kubernetes.io/server-alias":                     "d.example", // of Ingresses alone
	}}}
	var got []string
	for _, c := range new(viewService(svc)).claims(new(rule.Recorder)).list {
		got = append(got, c.String())
	}
	if diff := cmp.Diff([]string{"b.example", "a.example", "*.c.example"}, got); diff != "" {
		t.Error(diff)
	}
}

// Every line of the table is used: its kinds and its grammar exist.
func TestHostAnnotationTable(t *testing.T) {
	kinds := map[string]bool{"Ingress": true, "Service": true, "HTTPRoute": true, "GRPCRoute": true, "TLSRoute": true, "TCPRoute": true,
		"UDPRoute": true, "Route": true, "Gateway": true, "ListenerSet": true, "DNSEndpoint": true}
	for line := range strings.Lines(hostAnnotations) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 3 || host.Grammars()[fields[2]] == nil || fields[0] != match.LowerASCII(fields[0]) {
			t.Errorf("want a key in lower case, kinds and a grammar: %s", line)
			continue
		}
		for kind := range strings.SplitSeq(fields[1], ",") {
			if !kinds[kind] {
				t.Errorf("%s is not a kind: %s", kind, line)
			}
		}
	}
}

// The sentences about hosts in each field.
func TestSentencesOfClaims(t *testing.T) {
	const rule = `hosts: {required: true, allowed: ["*.example"], denied: [www.example], wildcards: deny, max: 2}`
	for name, test := range map[string]struct {
		ing  *object.Ingress
		want []string
	}{
		"tls": {withTLS(withHosts("a.example"), "b.corp", "*.example"), []string{
			`r/hosts.allowed: spec.tls[0].hosts[0]: "b.corp" is not allowed; allowed: *.example`,
			`r/hosts.denied: spec.tls[0].hosts[1]: "*.example" also covers the denied www.example; write each host out`,
			`r/hosts.wildcards: spec.tls[0].hosts[1]: "*.example" is a wildcard, which is denied; write each host out`,
			`r/hosts.max: spec.rules: has 3 different hosts; at most 2 are allowed`,
		}},
		"once": {withTLS(withHosts("b.corp"), "b.corp"), []string{`r/hosts.allowed: spec.rules[0].host: "b.corp" is not allowed; allowed: *.example`}},
		"once, in another order": {withTLS(withHosts("b.corp", "c.corp"), "c.corp", "b.corp", "c.corp", "b.corp"), []string{
			`r/hosts.allowed: spec.rules[0].host: "b.corp" is not allowed; allowed: *.example`,
			`r/hosts.allowed: spec.rules[1].host: "c.corp" is not allowed; allowed: *.example`,
		}},
		"a regular expression, twice": {
			&object.Ingress{Meta: object.Meta{Annotations: map[string]string{"konghq.com/snis": "~x,~x"}}, Rules: []object.IngressRule{{Host: "a.example"}}},
			[]string{
				`r/hosts.required: metadata.annotations["konghq.com/snis"]: "~x" may cover every host; write each host out`,
				`r/hosts.allowed: metadata.annotations["konghq.com/snis"]: "~x" may cover every host; allowed: *.example`,
				`r/hosts.denied: metadata.annotations["konghq.com/snis"]: "~x" may cover every host, including the denied www.example; write each host out`,
				`r/hosts.wildcards: metadata.annotations["konghq.com/snis"]: "~x" may cover every host; write each host out`,
			},
		},
		"a regular expression": {
			&object.Ingress{Meta: object.Meta{Annotations: map[string]string{"nginx.ingress.kubernetes.io/server-alias": "~^x"}}, Rules: []object.IngressRule{{Host: "a.example"}}},
			[]string{
				`r/hosts.required: metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]: "~^x" may cover every host; write each host out`,
				`r/hosts.allowed: metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]: "~^x" may cover every host; allowed: *.example`,
				`r/hosts.denied: metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]: "~^x" may cover every host, including the denied www.example; write each host out`,
				`r/hosts.wildcards: metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]: "~^x" may cover every host; write each host out`,
			},
		},
		"any depth": {
			&object.Ingress{Meta: object.Meta{Annotations: map[string]string{"external-dns.kubernetes.io/hostname": "*.example"}}, Rules: []object.IngressRule{{Host: "a.example"}}},
			[]string{
				`r/hosts.allowed: metadata.annotations["external-dns.kubernetes.io/hostname"]: "*.example" (names at any depth) is not allowed; allowed: *.example`,
				`r/hosts.denied: metadata.annotations["external-dns.kubernetes.io/hostname"]: "*.example" (names at any depth) also covers the denied www.example; write each host out`,
				`r/hosts.wildcards: metadata.annotations["external-dns.kubernetes.io/hostname"]: "*.example" (names at any depth) is a wildcard, which is denied; write each host out`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := sentences(must(mustLoadIngressRule(t, rule).EvaluateIngress(creating, test.ing, nil, nil)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A host in a rule of the old object is pre-existing in all fields. A host that was only in spec.tls is not
// pre-existing in a rule, and an added annotation is not pre-existing.
func TestClaimsOfOldObjects(t *testing.T) {
	p := mustLoadIngressRule(t, `hosts: {allowed: ["*.example"]}`)
	for _, test := range []struct {
		old, obj *object.Ingress
		existed  string // the path of the pre-existing finding
	}{
		{withTLS(withHosts("a.example", "old.corp"), "a.example"), withTLS(withHosts("a.example", "new.corp"), "old.corp"), "spec.tls[0].hosts[0]"},
		{withTLS(withHosts("a.example"), "old.corp"), withTLS(withHosts("a.example", "old.corp"), "new.corp"), ""},
		{withTLS(withHosts("a.example"), "old.corp"), withTLS(withHosts("a.example", "new.corp"), "old.corp"), "spec.tls[0].hosts[0]"},
	} {
		found := must(p.EvaluateIngress(updating, test.obj, test.old, nil))
		if len(found) != 2 {
			t.Errorf("%v, want two findings", sentences(found))
		}
		for _, f := range found {
			if want := f.Path == test.existed; f.Existed != want {
				t.Errorf("%s: pre-existing is %t, want %t", f, f.Existed, want)
			}
		}
	}
}

// A text that cannot be parsed may cover every host. It is pre-existing only if the same annotation had the same text.
func TestUnreadableClaimsOfOldObjects(t *testing.T) {
	const nginx, haproxy = "nginx.ingress.kubernetes.io/server-alias", "ingress.kubernetes.io/server-alias-regex"
	ingress := func(host string, annotations ...string) *object.Ingress {
		ing := withAnnotations(annotations...)
		ing.Rules = []object.IngressRule{{Host: host}}
		return ing
	}
	for name, test := range map[string]struct {
		old, changed *object.Ingress
		want         string // the fields of introduced findings
	}{
		"the same":              {ingress("a.example", nginx, "~^x"), ingress("a.example", nginx, "~^x"), ""},
		"another host":          {ingress("a.example", nginx, "~^x"), ingress("b.example", nginx, "~^x"), ""},
		"another expression":    {ingress("a.example", nginx, "~^x"), ingress("a.example", nginx, "~^y"), annotationPath(nginx)},
		"one more":              {ingress("a.example", nginx, "~^x"), ingress("a.example", nginx, "~^x,~^y"), annotationPath(nginx)},
		"one fewer":             {ingress("a.example", nginx, "~^x,~^y"), ingress("a.example", nginx, "~^y"), ""},
		"in another annotation": {ingress("a.example", nginx, "~^x"), ingress("a.example", haproxy, "~^x"), annotationPath(haproxy)},
		"beside every host":     {ingress(""), ingress("", nginx, "~^x"), annotationPath(nginx)},
		"then every host":       {ingress("a.example", nginx, "~^x"), ingress(""), "spec.rules[0].host"},
	} {
		for _, rules := range []string{
			"ingresses: [{name: r, mode: enforce, hosts: {required: true}}]",
			"ingresses: [{name: r, mode: enforce, hosts: {allowed: ['**.example']}}]",
			"ingresses: [{name: r, mode: enforce, hosts: {denied: [www.example]}}]",
			"ingresses: [{name: r, mode: enforce, hosts: {wildcards: deny}}]",
			"owners: [{name: o, mode: enforce, hosts: [www.example], namespaces: []}]",
		} {
			t.Run(name+", "+rules, func(t *testing.T) {
				var got []string
				for _, f := range must(mustLoad(t, rules).EvaluateIngress(updating, test.changed, test.old, nil)) {
					if f.Denies() {
						got = append(got, f.Path)
					}
				}
				if got := strings.Join(got, ", "); got != test.want {
					t.Errorf("introduced in %q, want %q", got, test.want)
				}
			})
		}
	}
}

// If an annotation has more names than the limit, it may cover every host.
func TestManyAnnotationHosts(t *testing.T) {
	names := strings.TrimSuffix(strings.Repeat("a.example,", maxAnnotationHosts), ",")
	for more, want := range map[string]bool{"": false, ",b.example": true} {
		ing := &object.Ingress{Meta: object.Meta{Annotations: map[string]string{"external-dns.kubernetes.io/hostname": names + more}}, Rules: []object.IngressRule{{Host: "a.example"}}}
		claims := new(viewIngress(ing)).claims(new(rule.Recorder)).list
		last := claims[len(claims)-1]
		if got := last.IsEvery(); got != want {
			t.Errorf("%d names: every host is %t, want %t", strings.Count(names+more, ",")+1, got, want)
		}
		if want := fmt.Sprintf(`"more than %d names" may cover every host`, maxAnnotationHosts); last.IsEvery() && last.at.every() != want {
			t.Errorf("got %s, want %s", last.at.every(), want)
		}
	}
}
