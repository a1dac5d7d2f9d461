package claim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// readIngress returns the claims of an Ingress.
func readIngress(ing *object.Ingress) []Claim {
	r := new(rule.Recorder)
	return OfIngress(ing, OfRules(ing, [2]string{}, nil, r), nil, r)
}

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
			&object.Ingress{
				Rules: []object.IngressRule{{Host: "a.example"}},
				TLS:   []object.IngressTLS{{Hosts: []string{"b.example", "*.c.example", "10.0.0.1", ""}}},
			},
			[]string{"spec.tls[0].hosts[0] b.example", "spec.tls[0].hosts[1] *.c.example", "spec.tls[0].hosts[2] 10.0.0.1"},
		},
		"default backend": {
			&object.Ingress{DefaultBackend: &object.IngressBackend{}, Rules: []object.IngressRule{{Host: "a.example"}}}, []string{"spec.defaultBackend **"},
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
		"Alibaba Cloud": {
			annotated("alb.ingress.kubernetes.io/conditions.web", `[{"type":"Path","pathConfig":{"values":["/x"]}},`+
				`{"type":"host","hostConfig":{"values":["b.example","*.c.example"]}}]`),
			[]string{
				`metadata.annotations["alb.ingress.kubernetes.io/conditions.web"] b.example`,
				`metadata.annotations["alb.ingress.kubernetes.io/conditions.web"] **.c.example`,
			}},
		"cert-manager, addresses": {
			annotated("cert-manager.io/ip-sans", "192.0.2.1, ::ffff:192.0.2.2,, x"),
			[]string{
				`metadata.annotations["cert-manager.io/ip-sans"] 192.0.2.1`,
				`metadata.annotations["cert-manager.io/ip-sans"] 192.0.2.2`,
				`metadata.annotations["cert-manager.io/ip-sans"] **`,
			}},
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
			claims := readIngress(test.ing)
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
	for _, c := range OfService(svc, nil, new(rule.Recorder)) {
		got = append(got, c.String())
	}
	if diff := cmp.Diff([]string{"b.example", "a.example", "*.c.example"}, got); diff != "" {
		t.Error(diff)
	}
}

// Every line of the table is used: its kinds and its grammar exist. The prefixes of a controller have the same
// annotations.
func TestHostAnnotationTable(t *testing.T) {
	rows := map[string]string{}
	defer func() {
		const want = 70 // without a row, nothing checks the hosts of its annotation
		if len(rows) != want {
			t.Errorf("%d rows, want %d", len(rows), want)
		}
		for _, prefixes := range [][2]string{
			{"external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"}, {"haproxy.org/", "haproxy.com/"},
			{"haproxy.org/", "ingress.kubernetes.io/"}, {"haproxy-ingress.github.io/", "ingress.kubernetes.io/"},
		} {
			for key, row := range rows {
				name, ok := strings.CutPrefix(key, prefixes[0])
				if other := prefixes[1] + name; ok && rows[other] != row {
					t.Errorf("%s differs from %s", other, key)
				}
			}
		}
	}()
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
		rows[fields[0]] = fields[1] + fields[2]
		for kind := range strings.SplitSeq(fields[1], ",") {
			if !kinds[kind] {
				t.Errorf("%s is not a kind: %s", kind, line)
			}
		}
	}
}

// If an annotation has more names than the limit, it may cover every host.
func TestManyAnnotationHosts(t *testing.T) {
	names := strings.TrimSuffix(strings.Repeat("a.example,", maxAnnotationHosts), ",")
	for more, want := range map[string]bool{"": false, ",b.example": true} {
		ing := &object.Ingress{Meta: object.Meta{Annotations: map[string]string{"external-dns.kubernetes.io/hostname": names + more}}, Rules: []object.IngressRule{{Host: "a.example"}}}
		claims := readIngress(ing)
		last := claims[len(claims)-1]
		if got := last.IsEvery(); got != want {
			t.Errorf("%d names: every host is %t, want %t", strings.Count(names+more, ",")+1, got, want)
		}
		if want := fmt.Sprintf(`"more than %d names" may cover every host`, maxAnnotationHosts); last.IsEvery() && last.at.every() != want {
			t.Errorf("got %s, want %s", last.at.every(), want)
		}
	}
}

// Each field of a Certificate that contains names, with the hosts that it claims.
func TestCertificateClaims(t *testing.T) {
	for name, test := range map[string]struct {
		crt  object.Certificate
		want string
	}{
		"nothing":         {object.Certificate{}, ""},
		"empty names":     {object.Certificate{DNSNames: []string{""}, URIs: []string{""}, IPAddresses: []string{""}, LiteralSubject: " "}, ""},
		"a name":          {object.Certificate{DNSNames: []string{"A.example."}}, "spec.dnsNames[0] a.example"},
		"a wildcard":      {object.Certificate{DNSNames: []string{"a", "*.a"}}, "spec.dnsNames[0] a, spec.dnsNames[1] *.a"},
		"two stars":       {object.Certificate{DNSNames: []string{"**.a"}}, "spec.dnsNames[0] **"},
		"a star within":   {object.Certificate{DNSNames: []string{"a.*.example"}}, "spec.dnsNames[0] **"},
		"a part of one":   {object.Certificate{DNSNames: []string{"w*.example"}}, "spec.dnsNames[0] **"},
		"an address":      {object.Certificate{DNSNames: []string{"192.0.2.1"}}, "spec.dnsNames[0] 192.0.2.1"},
		"a port":          {object.Certificate{DNSNames: []string{"a.example:443"}}, "spec.dnsNames[0] **"},
		"a nul":           {object.Certificate{DNSNames: []string{"a.example\x00.b"}}, "spec.dnsNames[0] **"},
		"a common name":   {object.Certificate{CommonName: "*.a.example"}, "spec.commonName *.a.example"},
		"a title":         {object.Certificate{CommonName: "Example (Test) Authority"}, ""},
		"a user":          {object.Certificate{CommonName: "system:node:a"}, ""},
		"a title, dotted": {object.Certificate{CommonName: "Example Inc. Authority"}, "spec.commonName **"},
		"a title, wild":   {object.Certificate{CommonName: "* Authority"}, "spec.commonName **"},
		"a title, nul":    {object.Certificate{CommonName: "a\x00b"}, "spec.commonName **"},
		"another dot":     {object.Certificate{CommonName: "www。example"}, "spec.commonName **"},

		"a subject":              {object.Certificate{LiteralSubject: "CN=a.example,O=Example"}, "spec.literalSubject a.example"},
		"a subject, blanks":      {object.Certificate{LiteralSubject: " O = Example , cn = a.example "}, "spec.literalSubject a.example"},
		"a subject, two":         {object.Certificate{LiteralSubject: "CN=a.example+CN=b.example;CN=c.example"}, "spec.literalSubject a.example, spec.literalSubject b.example, spec.literalSubject c.example"},
		"a subject, none":        {object.Certificate{LiteralSubject: "O=a.example,1.2.3=b.example,CN="}, ""},
		"a subject, a title":     {object.Certificate{LiteralSubject: "CN=Example Authority"}, ""},
		"a subject, its number":  {object.Certificate{LiteralSubject: "2.5.4.3=a.example"}, "spec.literalSubject a.example"},
		"a subject, escapes":     {object.Certificate{LiteralSubject: `O=Example\, CN=b.example,CN=a.example`}, "spec.literalSubject a.example"},
		"a subject, escaped":     {object.Certificate{LiteralSubject: `CN=a\.example`}, "spec.literalSubject **"},
		"a subject, its type":    {object.Certificate{LiteralSubject: `\43N=a.example`}, "spec.literalSubject **"},
		"a subject, encoded":     {object.Certificate{LiteralSubject: "CN=#0c0161"}, "spec.literalSubject **"},
		"a subject, quotes":      {object.Certificate{LiteralSubject: `O="a,CN=b.example"`}, "spec.literalSubject **"},
		"a subject, no type":     {object.Certificate{LiteralSubject: "a.example"}, "spec.literalSubject **"},
		"a subject, an end":      {object.Certificate{LiteralSubject: "O=a,b.example"}, "spec.literalSubject **"},
		"a subject, an unknown":  {object.Certificate{LiteralSubject: "commonName=a.example"}, "spec.literalSubject **"},
		"a subject, oid":         {object.Certificate{LiteralSubject: "OID.2.5.4.3=a.example"}, "spec.literalSubject **"},
		"a subject, zeros":       {object.Certificate{LiteralSubject: "2.5.04.3=a.example"}, "spec.literalSubject **"},
		"a subject, many":        {object.Certificate{LiteralSubject: strings.Repeat("CN=a,", 101)}, "spec.literalSubject **"},
		"a subject, a backslash": {object.Certificate{LiteralSubject: `O=a\`}, ""},

		"a URI":                 {object.Certificate{URIs: []string{"https://a.example/ns/b"}}, "spec.uris[0] a.example"},
		"a SPIFFE ID":           {object.Certificate{URIs: []string{"SPIFFE://cluster.local/ns/b"}}, ""},
		"no SPIFFE ID":          {object.Certificate{URIs: []string{"spiffe:a.example"}}, "spec.uris[0] **"},
		"a URI, with all":       {object.Certificate{URIs: []string{"https://u:p@A.example:443/p?q#f"}}, "spec.uris[0] a.example"},
		"a URI, an address":     {object.Certificate{URIs: []string{"https://[2001:DB8::1]:443/"}}, "spec.uris[0] 2001:db8::1"},
		"a URI, mapped":         {object.Certificate{URIs: []string{"https://[::ffff:192.0.2.1]/"}}, "spec.uris[0] 192.0.2.1"},
		"a URI, escaped":        {object.Certificate{URIs: []string{"https://a%2eexample/"}}, "spec.uris[0] **"},
		"a URI, urn":            {object.Certificate{URIs: []string{"urn:uuid:a.example"}}, ""},
		"a URI, URN":            {object.Certificate{URIs: []string{"URN:uuid:a.example"}}, ""},
		"a URI, opaque":         {object.Certificate{URIs: []string{"sip:u@a.example"}}, "spec.uris[0] **"},
		"a URI, no authority":   {object.Certificate{URIs: []string{"file:///a.example"}}, "spec.uris[0] **"},
		"a URI, no scheme":      {object.Certificate{URIs: []string{"//a.example"}}, "spec.uris[0] **"},
		"a URI, a wildcard":     {object.Certificate{URIs: []string{"https://*.a.example"}}, "spec.uris[0] *.a.example"},
		"a URI, backslashes":    {object.Certificate{URIs: []string{`https:\\a.example`}}, "spec.uris[0] **"},
		"a URI, two users":      {object.Certificate{URIs: []string{"https://a.example@b@c.example"}}, "spec.uris[0] **"},
		"a URI, a user's \\":    {object.Certificate{URIs: []string{`https://a.example\@b.example`}}, "spec.uris[0] **"},
		"a URI, no port":        {object.Certificate{URIs: []string{"https://a.example:x"}}, "spec.uris[0] **"},
		"a URI, an empty port":  {object.Certificate{URIs: []string{"https://a.example:?q"}}, "spec.uris[0] a.example"},
		"a URI, a zone":         {object.Certificate{URIs: []string{"https://[fe80::1%25a]"}}, "spec.uris[0] **"},
		"a URI, not closed":     {object.Certificate{URIs: []string{"https://[::1/"}}, "spec.uris[0] **"},
		"a URI, odd scheme":     {object.Certificate{URIs: []string{"1x://a.example"}}, "spec.uris[0] **"},
		"a URI, empty":          {object.Certificate{URIs: []string{"https://"}}, "spec.uris[0] **"},
		"urn alone":             {object.Certificate{URIs: []string{"urn"}}, "spec.uris[0] **"},
		"no URI":                {object.Certificate{URIs: []string{"%"}}, "spec.uris[0] **"},
		"addresses":             {object.Certificate{IPAddresses: []string{"192.0.2.1", "2001:db8:0::1"}}, "spec.ipAddresses[0] 192.0.2.1, spec.ipAddresses[1] 2001:db8::1"},
		"a mapped address":      {object.Certificate{IPAddresses: []string{"::ffff:192.0.2.1"}}, "spec.ipAddresses[0] 192.0.2.1"},
		"an address with zeros": {object.Certificate{IPAddresses: []string{"192.0.02.1"}}, "spec.ipAddresses[0] **"},
		"a zone":                {object.Certificate{IPAddresses: []string{"fe80::1%a"}}, "spec.ipAddresses[0] **"},
		"no address":            {object.Certificate{IPAddresses: []string{"a.example"}}, "spec.ipAddresses[0] **"},
	} {
		t.Run(name, func(t *testing.T) {
			claims := OfCertificate(&test.crt, new(rule.Recorder))
			var got []string
			for i := range claims {
				got = append(got, claims[i].at.String()+" "+claims[i].String())
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// The hosts that a Route claims by its host, subdomain and wildcard policy, with the domains of two routers and without
// domains.
func TestOpenShiftRouteClaims(t *testing.T) {
	for name, test := range map[string]struct {
		route     object.OpenShiftRoute
		want      string
		ofUnknown string // without domains, if that differs
	}{
		"a host":                    {object.OpenShiftRoute{Host: "A.example"}, "spec.host a.example", ""},
		"a host beats a subdomain":  {object.OpenShiftRoute{Host: "a.example", Subdomain: "b"}, "spec.host a.example", ""},
		"no wildcard":               {object.OpenShiftRoute{Host: "a.example", WildcardPolicy: "None"}, "spec.host a.example", ""},
		"a wildcard":                {object.OpenShiftRoute{Host: "a.b.example", WildcardPolicy: "Subdomain"}, "spec.host *.b.example", ""},
		"a wildcard of one label":   {object.OpenShiftRoute{Host: "a", WildcardPolicy: "Subdomain"}, "spec.host **", ""},
		"another policy":            {object.OpenShiftRoute{Host: "a.b.example", WildcardPolicy: "All"}, "spec.host a.b.example, spec.host *.b.example", ""},
		"no name":                   {object.OpenShiftRoute{Host: "a.example:443"}, "spec.host **", ""},
		"a star":                    {object.OpenShiftRoute{Host: "*.example"}, "spec.host **", ""},
		"a star, and a wildcard":    {object.OpenShiftRoute{Host: "*.example", WildcardPolicy: "Subdomain"}, "spec.host **", ""},
		"neither":                   {object.OpenShiftRoute{}, "spec.host **", ""},
		"neither, and a wildcard":   {object.OpenShiftRoute{WildcardPolicy: "Subdomain"}, "spec.host **", ""},
		"a subdomain":               {object.OpenShiftRoute{Subdomain: "B.c"}, "spec.subdomain b.c.x.example, spec.subdomain b.c.y.example", "spec.subdomain **"},
		"an invalid subdomain":      {object.OpenShiftRoute{Subdomain: "b:1"}, "spec.subdomain **", ""},
		"a subdomain with a star":   {object.OpenShiftRoute{Subdomain: "*.b"}, "spec.subdomain **", ""},
		"a subdomain ending in dot": {object.OpenShiftRoute{Subdomain: "b."}, "spec.subdomain **", ""},
	} {
		t.Run(name, func(t *testing.T) {
			claimed := func(domains ...string) string {
				var all []string
				claims := OfOpenShiftRoute(&test.route, domains, nil, new(rule.Recorder))
				for i := range claims {
					all = append(all, claims[i].at.String()+" "+claims[i].String())
				}
				return strings.Join(all, ", ")
			}
			if got := claimed("x.example", "y.example"); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if want := test.ofUnknown; want == "" {
				test.ofUnknown = test.want
			}
			if got := claimed(); got != test.ofUnknown {
				t.Errorf("without domains: got %s, want %s", got, test.ofUnknown)
			}
		})
	}
}

// Looking up hosts one after the other has the same results as looking up each host in the set.
func TestHostLookup(t *testing.T) {
	patterns := []string{"**", "a", "b.a", "*.a", "**.a", "*.b.a", "**.b.a", "c.b.a", "*.example", "x.example"}
	hosts := []string{"", "*", "a", "b.a", "c.a", "*.a", "c.b.a", "d.b.a", "d.b.a", "*.b.a", "e.d.b.a", "x.example", "y.example", "*.example", "z"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		set, chosen := match.NewHostSet(nil), []string{}
		for range random.IntN(4) {
			chosen = append(chosen, patterns[random.IntN(len(patterns))])
			set.Add(match.ParseHost(chosen[len(chosen)-1]))
		}
		ing := &object.Ingress{}
		for range 8 {
			ing.Rules = append(ing.Rules, object.IngressRule{Host: hosts[random.IntN(len(hosts))]})
		}
		var lookup hostLookup
		for i, host := range OfRules(ing, [2]string{}, nil, new(rule.Recorder)) {
			if _, want := set.Covers(host.HostPattern); lookup.find(set, &host) != want {
				t.Fatalf("set %v, hosts %v: host %d is covered: %t", chosen, ing.Rules, i, want)
			}
		}
	}
}

// Rules about the annotations of Gateways also evaluate ListenerSets, because cert-manager reads the annotations of
// both.
func TestGatewayAnnotationTable(t *testing.T) {
	gateway, set := defaultAnnotations().hostTable("Gateway"), defaultAnnotations().hostTable("ListenerSet")
	for key := range set.exact {
		if gateway.exact[key].grammar == nil {
			t.Errorf("%s is read on ListenerSets and not on Gateways", key)
		}
	}
	if len(set.exact) == 0 || len(set.globs) > 0 {
		t.Error("the table of ListenerSets is not of single keys")
	}
}
