package policy

import (
	"runtime"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// routesRule is a policy of one routes entry with the given fields.
func routesRule(fields string) string {
	return "routes:\n- name: r\n  mode: enforce\n  " + fields + "\n"
}

// creatingRoute is the creation of a route in the namespace shop. Its kind is HTTPRoute by default.
func creatingRoute(resource string) object.Attributes {
	if resource == "" {
		resource = httpRoutes
	}
	return object.Attributes{Operation: object.Create, Namespace: "shop", Resource: resource}
}

// routeCase is a route and the sentences about it; none if it passes.
type routeCase struct {
	rule     string
	resource string // httproutes if empty
	route    object.Route
	want     []string
}

func testRoutes(t *testing.T, cases map[string]routeCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, routesRule(c.rule))
			got := sentences(must(Routes.Evaluate(p, creatingRoute(c.resource), &c.route, nil, nil)))
			equal(t, c.want, got)
		})
	}
}

// routeUpdate is an update of an HTTPRoute, and the sentences of its denial.
type routeUpdate struct {
	rule     string
	old, now object.Route
	want     []string
}

func testRouteUpdates(t *testing.T, cases map[string]routeUpdate) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, routesRule(c.rule))
			a := creatingRoute("")
			a.Operation = object.Update
			equal(t, c.want, denying(must(Routes.Evaluate(p, a, &c.now, &c.old, nil))))
		})
	}
}

// hostsRoute is a route with hostnames and nothing else.
func hostsRoute(hosts ...string) object.Route { return object.Route{Hostnames: hosts} }

// gateway and service are parents.
func gateway(namespace, name, section string) object.RouteParent {
	return object.RouteParent{Reference: object.Reference{Kind: "Gateway." + gatewayGroup, Namespace: namespace, Name: name}, SectionName: section}
}

func service(namespace, name string) object.Reference {
	return object.Reference{Kind: "Service", Namespace: namespace, Name: name}
}

// meshRoute is a route whose only parent is a Service.
func meshRoute(hosts ...string) object.Route {
	return object.Route{Hostnames: hosts, Parents: []object.RouteParent{{Reference: service("", "cart")}}}
}

func TestRouteHosts(t *testing.T) {
	const allowed = `hosts: {allowed: ["*.a.example", "**.b.example", "{namespace}.c.example"]}`
	const lists = "; allowed: *.a.example, **.b.example, shop.c.example"
	none := `r/hosts.allowed: spec.hostnames: no host means every host` + lists
	dns := func(host string) object.Route {
		return object.Route{Hostnames: []string{"x.a.example"}, Meta: object.Meta{Annotations: map[string]string{"external-dns.alpha.kubernetes.io/hostname": host}}}
	}
	mixed := meshRoute("evil.example")
	mixed.Parents = append(mixed.Parents, gateway("", "public", ""))
	byDefault := meshRoute("evil.example")
	byDefault.DefaultGateways = "All"
	notByDefault := meshRoute("evil.example")
	notByDefault.DefaultGateways = "None"
	meshDNS := meshRoute("evil.example")
	meshDNS.Annotations = map[string]string{"external-dns.kubernetes.io/hostname": "dns.example"}
	evil := `r/hosts.allowed: spec.hostnames[0]: "evil.example" is not allowed` + lists
	testRoutes(t, map[string]routeCase{
		"allowed":             {allowed, "", hostsRoute("x.a.example", "x.y.b.example", "*.b.example", "shop.c.example", "X.A.Example."), nil},
		"a wildcard is deep":  {allowed, "", hostsRoute("*.a.example"), []string{`r/hosts.allowed: spec.hostnames[0]: "*.a.example" (names at any depth) is not allowed` + lists}},
		"as it is written":    {allowed, "", hostsRoute("*.A.Example."), []string{`r/hosts.allowed: spec.hostnames[0]: "*.A.Example." (names at any depth) is not allowed` + lists}},
		"the second":          {allowed, "", hostsRoute("x.a.example", "evil.example"), []string{`r/hosts.allowed: spec.hostnames[1]: "evil.example" is not allowed` + lists}},
		"other namespace":     {allowed, "", hostsRoute("pay.c.example"), []string{`r/hosts.allowed: spec.hostnames[0]: "pay.c.example" is not allowed` + lists}},
		"none":                {allowed, "", object.Route{}, []string{none}},
		"none, of gRPC":       {allowed, grpcRoutes, object.Route{}, []string{none}},
		"none, of TLS":        {allowed, tlsRoutes, object.Route{}, []string{none}},
		"none, of TCP":        {allowed, tcpRoutes, object.Route{}, nil},
		"unknown field, UDP":  {allowed, udpRoutes, hostsRoute("evil.example"), nil},
		"an address":          {allowed, "", hostsRoute("192.0.2.1"), []string{`r/hosts.allowed: spec.hostnames[0]: "192.0.2.1" is not allowed` + lists}},
		"an address, allowed": {`hosts: {allowed: ["192.0.2.1"]}`, "", hostsRoute("192.0.2.1"), nil},
		"no name":             {allowed, "", hostsRoute("*", "x.*", ""), []string{`r/hosts.allowed: spec.hostnames[0]: "*" may cover every host` + lists, `r/hosts.allowed: spec.hostnames[1]: "x.*" may cover every host` + lists, `r/hosts.allowed: spec.hostnames[2]: "" may cover every host` + lists}},
		"annotation":          {allowed, "", dns("evil.example"), []string{`r/hosts.allowed: metadata.annotations["external-dns.alpha.kubernetes.io/hostname"]: "evil.example" is not allowed` + lists}},
		"annotation of TCP": {allowed, tcpRoutes, dns("*.a.example"), []string{
			`r/hosts.allowed: metadata.annotations["external-dns.alpha.kubernetes.io/hostname"]: "*.a.example" (names at any depth) is not allowed` + lists}},
		"annotation repeats":   {`hosts: {denied: ["x.a.example"]}`, "", dns("x.a.example"), []string{`r/hosts.denied: spec.hostnames[0]: "x.a.example" is denied by x.a.example`}},
		"denied":               {`hosts: {denied: [a.b.c.example]}`, "", hostsRoute("*.c.example"), []string{`r/hosts.denied: spec.hostnames[0]: "*.c.example" (names at any depth) also covers the denied a.b.c.example; write each host out`}},
		"denied, every host":   {`hosts: {denied: [a.example]}`, "", object.Route{}, []string{`r/hosts.denied: spec.hostnames: no host means every host, including the denied a.example; set one`}},
		"required":             {`hosts: {required: true}`, "", object.Route{}, []string{`r/hosts.required: spec.hostnames: no host means every host; set one`}},
		"required of TCP":      {`hosts: {required: true}`, tcpRoutes, object.Route{}, nil},
		"wildcards":            {`hosts: {wildcards: deny}`, "", hostsRoute("*.a.example"), []string{`r/hosts.wildcards: spec.hostnames[0]: "*.a.example" (names at any depth) is a wildcard, which is denied; write each host out`}},
		"max":                  {`hosts: {max: 1}`, "", hostsRoute("a.example", "b.example"), []string{`r/hosts.max: spec.hostnames: has 2 different hosts; at most 1 are allowed`}},
		"a mesh":               {allowed, "", meshRoute("evil.example"), nil},
		"a mesh without":       {"hosts: {required: true, allowed: [a.example]}", "", meshRoute(), nil},
		"a mesh, by name":      {`hosts: {meshHosts: true, allowed: ["*.a.example", "**.b.example", "{namespace}.c.example"]}`, "", meshRoute("evil.example"), []string{evil}},
		"a mesh, none by name": {`hosts: {meshHosts: true, required: true}`, "", meshRoute(), []string{`r/hosts.required: spec.hostnames: no host means every host; set one`}},
		"a mesh and a Gateway": {allowed, "", mixed, []string{evil}},
		"a mesh, by default":   {allowed, "", byDefault, []string{evil}},
		"a mesh, not by":       {allowed, "", notByDefault, nil},
		"no parents":           {allowed, "", hostsRoute("evil.example"), []string{evil}},
		"a mesh, annotation":   {allowed, "", meshDNS, []string{`r/hosts.allowed: metadata.annotations["external-dns.kubernetes.io/hostname"]: "dns.example" is not allowed` + lists}},
		"a Service, not core": {allowed, "", object.Route{Hostnames: []string{"evil.example"}, Parents: []object.RouteParent{{Reference: object.Reference{Kind: "Service.x.example", Namespace: "", Name: "cart"}}}},
			[]string{evil}},
	})
	testRouteUpdates(t, map[string]routeUpdate{
		"the same":                         {allowed, hostsRoute("evil.example"), hostsRoute("evil.example"), nil},
		"one is added":                     {allowed, hostsRoute("x.a.example"), hostsRoute("x.a.example", "evil.example"), []string{`r/hosts.allowed: spec.hostnames[1]: "evil.example" is not allowed` + lists}},
		"all are removed":                  {allowed, hostsRoute("evil.example"), object.Route{}, []string{none}},
		"deeper":                           {allowed, hostsRoute("evil.example"), hostsRoute("*.evil.example"), []string{`r/hosts.allowed: spec.hostnames[0]: "*.evil.example" (names at any depth) is not allowed` + lists}},
		"a mesh route that gets a Gateway": {allowed, meshRoute("evil.example"), mixed, []string{evil}},
	})
}

// If one rule checks the hostnames of a mesh route and another rule does not, the claims that they share are read once.
func TestMeshHostsBesideOthers(t *testing.T) {
	p := mustLoad(t, routesRule(`hosts: {max: 1, denied: [dns.example]}`)+`- name: mesh
  mode: enforce
  hosts: {meshHosts: true, max: 1, denied: [dns.example, evil.example]}
- name: last
  mode: enforce
  hosts: {max: 1, denied: [dns.example]}
`)
	route := meshRoute("evil.example", "dns.example")
	route.Annotations = map[string]string{"external-dns.kubernetes.io/hostname": "dns.example"}
	const dns = `/hosts.denied: metadata.annotations["external-dns.kubernetes.io/hostname"]: "dns.example" is denied by dns.example`
	want := []string{
		`r` + dns,
		`mesh/hosts.denied: spec.hostnames[0]: "evil.example" is denied by evil.example`,
		`mesh/hosts.denied: spec.hostnames[1]: "dns.example" is denied by dns.example`,
		`mesh/hosts.max: spec.hostnames: has 2 different hosts; at most 1 are allowed`,
		`last` + dns,
	}
	equal(t, want, sentences(must(Routes.Evaluate(p, creatingRoute(""), &route, nil, nil))))
}

// Owners also apply to all hosts of routes, except the hostnames of a mesh.
func TestRouteOwners(t *testing.T) {
	p := mustLoad(t, `owners: [{name: pay, mode: enforce, hosts: [pay.example, "**.pay.example"], namespaces: [pay]}]`)
	for name, c := range map[string]struct {
		route object.Route
		want  []string
	}{
		"another's": {hostsRoute("a.example", "pay.example"), []string{`pay/owners: spec.hostnames[1]: "pay.example" belongs to the namespaces pay`}},
		"a wildcard above": {hostsRoute("*.example"), []string{
			`pay/owners: spec.hostnames[0]: "*.example" (names at any depth) also covers hosts of pay.example, which belongs to the namespaces pay; write each host out`}},
		"every host": {object.Route{}, []string{`pay/owners: spec.hostnames: no host means every host, including pay.example, which belongs to the namespaces pay; set one`}},
		"a mesh":     {meshRoute("pay.example"), nil},
	} {
		got := sentences(must(Routes.Evaluate(p, creatingRoute(""), &c.route, nil, nil)))
		equal(t, c.want, got, name)
	}
}

func withMatches(matches ...object.RouteMatch) object.Route {
	return object.Route{Rules: []object.RouteRule{{Matches: matches}}}
}

func httpPath(kind, path string) object.RouteMatch {
	return object.RouteMatch{Path: object.RoutePath{Type: kind, Value: path}}
}

func grpcMethod(kind, service, method string) object.RouteMatch {
	return object.RouteMatch{Method: object.RouteMethod{Type: kind, Service: service, Method: method}}
}

func TestRoutePaths(t *testing.T) {
	const exact = `paths: {types: [Exact]}`
	testRoutes(t, map[string]routeCase{
		"types":            {exact, "", withMatches(httpPath("Exact", "/a")), nil},
		"another type":     {exact, "", withMatches(httpPath("Exact", "/a"), httpPath("RegularExpression", "/.*")), []string{`r/paths.types: spec.rules[0].matches[1].path.type: "RegularExpression" is not allowed; allowed: Exact`}},
		"default type":     {exact, "", withMatches(httpPath("", "/a")), []string{`r/paths.types: spec.rules[0].matches[0].path.type: "PathPrefix" is not allowed; allowed: Exact`}},
		"no path":          {exact, "", withMatches(object.RouteMatch{}), []string{`r/paths.types: spec.rules[0].matches[0].path.type: "PathPrefix" is not allowed; allowed: Exact`}},
		"no matches":       {exact, "", withMatches(), []string{`r/paths.types: spec.rules[0].matches: "PathPrefix" is not allowed; allowed: Exact`}},
		"no rules":         {exact, "", object.Route{}, []string{`r/paths.types: spec.rules: "PathPrefix" is not allowed; allowed: Exact`}},
		"the default":      {`paths: {types: [PathPrefix], denied: [/admin]}`, "", object.Route{}, nil},
		"of TCP":           {`paths: {types: []}`, tcpRoutes, withMatches(httpPath("Exact", "/a")), nil},
		"denied":           {`paths: {denied: [/admin]}`, "", withMatches(httpPath("", "/x/Admin/")), []string{`r/paths.denied: spec.rules[0].matches[0].path.value: "/x/Admin/" contains "/admin", which is denied`}},
		"denied, above":    {`paths: {denied: [/admin]}`, "", withMatches(httpPath("", "/")), nil},
		"an expression":    {`paths: {denied: [/admin]}`, "", withMatches(httpPath("RegularExpression", "/[a]dmin")), []string{`r/paths.denied: spec.rules[0].matches[0].path.value: "/[a]dmin" may be read as a pattern, because of '[', so it cannot be distinguished from "/admin", which is denied; write type Exact or PathPrefix`}},
		"no expression":    {`paths: {denied: [/admin]}`, "", withMatches(httpPath("PathPrefix", "/[a]dmin")), nil},
		"pattern":          {`paths: {deniedPatterns: ["/v[0-9]+/internal(/.*)?"]}`, "", withMatches(httpPath("", "/v1/internal")), []string{`r/paths.deniedPatterns: spec.rules[0].matches[0].path.value: "/v1/internal" matches /v[0-9]+/internal(/.*)?, which is denied`}},
		"a method":         {`paths: {denied: [/admin.Admin/]}`, grpcRoutes, withMatches(grpcMethod("", "admin.Admin", "Drop")), []string{`r/paths.denied: spec.rules[0].matches[0].method: "/admin.Admin/Drop" contains "/admin.admin/", which is denied`}},
		"a service":        {`paths: {denied: [/admin.Admin/]}`, grpcRoutes, withMatches(grpcMethod("Exact", "admin.Admin", "")), []string{`r/paths.denied: spec.rules[0].matches[0].method: "/admin.Admin/*" contains "/admin.admin/", which is denied`}},
		"any service":      {`paths: {denied: [/Drop]}`, grpcRoutes, withMatches(grpcMethod("Exact", "", "Drop")), []string{`r/paths.denied: spec.rules[0].matches[0].method: "/*/Drop" contains "/drop", which is denied`}},
		"type of a method": {exact, grpcRoutes, withMatches(grpcMethod("", "a.B", "C"), grpcMethod("RegularExpression", "a.*", "C"), object.RouteMatch{}), []string{`r/paths.types: spec.rules[0].matches[1].method.type: "RegularExpression" is not allowed; allowed: Exact`, `r/paths.types: spec.rules[0].matches[2].method.type: "PathPrefix" is not allowed; allowed: Exact`}},
	})
	testRouteUpdates(t, map[string]routeUpdate{
		"reordered": {`paths: {denied: [/admin]}`, withMatches(httpPath("", "/a"), httpPath("", "/admin")), withMatches(httpPath("", "/admin"), httpPath("", "/a")), nil},
		"added":     {`paths: {denied: [/admin]}`, withMatches(httpPath("", "/admin")), withMatches(httpPath("", "/admin"), httpPath("", "/admin/x")), []string{`r/paths.denied: spec.rules[0].matches[1].path.value: "/admin/x" contains "/admin", which is denied`}},
		"type":      {exact, withMatches(httpPath("", "/a")), withMatches(httpPath("RegularExpression", "/a")), []string{`r/paths.types: spec.rules[0].matches[0].path.type: "RegularExpression" is not allowed; allowed: Exact`}},
	})
}

func attached(parents ...object.RouteParent) object.Route { return object.Route{Parents: parents} }

func TestRouteParents(t *testing.T) {
	const edge = `parents: {allowed: [{namespace: edge, name: "public-*"}, {name: own, sectionName: "http*"}]}`
	const lists = "; allowed: edge/public-*, own (sectionName http*)"
	const same = `parents: {crossNamespace: deny}`
	byDefault := attached(gateway("edge", "public-a", ""))
	byDefault.DefaultGateways = "All"
	set := attached(object.RouteParent{Reference: object.Reference{Kind: "ListenerSet." + gatewayGroup, Namespace: "", Name: "own"}, SectionName: "https"})
	testRoutes(t, map[string]routeCase{
		"allowed":              {edge, "", attached(gateway("edge", "public-a", ""), gateway("edge", "public-b", "x"), gateway("", "own", "https"), gateway("shop", "own", "http")), nil},
		"a ListenerSet":        {edge, "", set, nil},
		"none":                 {edge, "", object.Route{}, nil},
		"another namespace":    {edge, "", attached(gateway("edge2", "public-a", "")), []string{`r/parents.allowed: spec.parentRefs[0]: Gateway "edge2/public-a" is not allowed` + lists}},
		"its own namespace":    {edge, "", attached(gateway("", "public-a", "")), []string{`r/parents.allowed: spec.parentRefs[0]: Gateway "shop/public-a" is not allowed` + lists}},
		"another own":          {edge, "", attached(gateway("pay", "own", "https")), []string{`r/parents.allowed: spec.parentRefs[0]: Gateway "pay/own", sectionName "https" is not allowed` + lists}},
		"all sections":         {edge, "", attached(gateway("", "own", "")), []string{`r/parents.allowed: spec.parentRefs[0]: Gateway "shop/own" is not allowed` + lists}},
		"another section":      {edge, "", attached(gateway("", "own", "tcp")), []string{`r/parents.allowed: spec.parentRefs[0]: Gateway "shop/own", sectionName "tcp" is not allowed` + lists}},
		"any kind":             {edge, "", attached(object.RouteParent{Reference: service("edge", "public-a")}), nil},
		"another kind":         {`parents: {allowed: [{kind: Gateway, namespace: "*"}]}`, tcpRoutes, attached(object.RouteParent{Reference: service("", "cart")}), []string{`r/parents.allowed: spec.parentRefs[0]: Service "shop/cart" is not allowed; allowed: Gateway */*`}},
		"another group":        {`parents: {allowed: [{kind: Gateway, namespace: "*"}]}`, "", attached(object.RouteParent{Reference: object.Reference{Kind: "Gateway.x.example", Namespace: "", Name: "a"}}), []string{`r/parents.allowed: spec.parentRefs[0]: Gateway.x.example "shop/a" is not allowed; allowed: Gateway */*`}},
		"nothing":              {`parents: {allowed: []}`, "", attached(gateway("", "a", "")), []string{`r/parents.allowed: spec.parentRefs[0]: Gateway "shop/a" is not allowed; the policy allows none`}},
		"by default":           {edge, "", byDefault, []string{`r/parents.allowed: spec.useDefaultGateways: attaches to Gateways that the route does not list` + lists}},
		"same namespace":       {same, "", attached(gateway("", "a", ""), gateway("shop", "a", "")), nil},
		"cross namespace":      {same, "", attached(gateway("edge", "a", "")), []string{`r/parents.crossNamespace: spec.parentRefs[0].namespace: Gateway "edge/a" is in another namespace`}},
		"a Service of another": {same, "", attached(object.RouteParent{Reference: service("pay", "api")}), []string{`r/parents.crossNamespace: spec.parentRefs[0].namespace: Service "pay/api" is in another namespace`}},
		"cross by default": {same, "", object.Route{DefaultGateways: "All"}, []string{
			`r/parents.crossNamespace: spec.useDefaultGateways: attaches to Gateways of other namespaces; list parents in spec.parentRefs instead`}},
	})
	port := gateway("edge", "a", "")
	port.Port = 8443
	testRouteUpdates(t, map[string]routeUpdate{
		"reordered":   {same, attached(gateway("edge", "a", ""), gateway("edge", "b", "")), attached(gateway("edge", "b", ""), gateway("edge", "a", "")), nil},
		"own by name": {edge, attached(gateway("", "x", "")), attached(gateway("shop", "x", "")), nil},
		"section":     {same, attached(gateway("edge", "a", "x")), attached(gateway("edge", "a", "")), []string{`r/parents.crossNamespace: spec.parentRefs[0].namespace: Gateway "edge/a" is in another namespace`}},
		"port":        {same, attached(gateway("edge", "a", "")), attached(port), []string{`r/parents.crossNamespace: spec.parentRefs[0].namespace: Gateway "edge/a" is in another namespace`}},
		"kind": {same, attached(gateway("edge", "a", "")), attached(object.RouteParent{Reference: service("edge", "a")}), []string{
			`r/parents.crossNamespace: spec.parentRefs[0].namespace: Service "edge/a" is in another namespace`}},
	})
}

func mirrorTo(ref object.Reference) object.RouteFilter {
	return object.RouteFilter{Type: "RequestMirror", Mirror: &ref}
}

// askingAbout has an ExternalAuth filter that decides each request.
func askingAbout(ref object.Reference) object.RouteFilter {
	return object.RouteFilter{Type: "ExternalAuth", Auth: &ref}
}

func sending(backends ...object.RouteBackend) object.Route {
	return object.Route{Rules: []object.RouteRule{{Backends: backends}}}
}

func TestRouteBackends(t *testing.T) {
	for _, route := range []object.Route{sending(make([]object.RouteBackend, 2)...), filtering(mirrorTo(service("", "a")), mirrorTo(service("", "b")))} {
		view := viewRoute(&route)
		for range view.eachBackend(new(rule.Recorder)) {
			break // the runtime panics if eachBackend yields another backend
		}
	}
	const same = `backends: {crossNamespace: deny}`
	const services = `backends: {kinds: [Service, ServiceImport.multicluster.x-k8s.io]}`
	copies := object.Route{Rules: []object.RouteRule{{}, {Filters: []object.RouteFilter{{Type: "URLRewrite"}, mirrorTo(service("pay", "api"))}}}}
	inner := sending(object.RouteBackend{Reference: service("", "cart"), Filters: []object.RouteFilter{mirrorTo(service("pay", "api"))}})
	testRoutes(t, map[string]routeCase{
		"same namespace":  {same, "", sending(object.RouteBackend{Reference: service("", "cart")}, object.RouteBackend{Reference: service("shop", "cart")}), nil},
		"cross namespace": {same, tcpRoutes, sending(object.RouteBackend{Reference: service("pay", "api")}), []string{`r/backends.crossNamespace: spec.rules[0].backendRefs[0].namespace: Service "pay/api" is in another namespace`}},
		"copies":          {same, "", copies, []string{`r/backends.crossNamespace: spec.rules[1].filters[1].requestMirror.backendRef.namespace: Service "pay/api" is in another namespace`}},
		"copies of one":   {same, "", inner, []string{`r/backends.crossNamespace: spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef.namespace: Service "pay/api" is in another namespace`}},
		"authorities": {same, "", filtering(askingAbout(service("pay", "api"))), []string{
			`r/backends.crossNamespace: spec.rules[0].filters[0].externalAuth.backendRef.namespace: Service "pay/api" is in another namespace`}},
		"an authority of another kind": {`backends: {kinds: [ServiceImport.multicluster.x-k8s.io]}`, "", filtering(askingAbout(service("", "a"))), []string{
			`r/backends.kinds: spec.rules[0].filters[0].externalAuth.backendRef.kind: "Service" is not allowed; allowed: ServiceImport.multicluster.x-k8s.io`}},
		"kinds":        {services, "", sending(object.RouteBackend{Reference: service("", "a")}, object.RouteBackend{Reference: object.Reference{Kind: "ServiceImport.multicluster.x-k8s.io", Namespace: "", Name: "a"}}), nil},
		"another kind": {services, "", sending(object.RouteBackend{Reference: object.Reference{Kind: "Service.x.example", Namespace: "", Name: "a"}}), []string{`r/backends.kinds: spec.rules[0].backendRefs[0].kind: "Service.x.example" is not allowed; allowed: Service, ServiceImport.multicluster.x-k8s.io`}},
		"no kind":      {`backends: {kinds: []}`, "", copies, []string{`r/backends.kinds: spec.rules[1].filters[1].requestMirror.backendRef.kind: "Service" is not allowed; the policy allows none`}},
	})
	testRouteUpdates(t, map[string]routeUpdate{
		"moved": {same, sending(object.RouteBackend{Reference: service("", "cart")}, object.RouteBackend{Reference: service("pay", "api")}), sending(object.RouteBackend{Reference: service("pay", "api")}), nil},
		"another": {same, sending(object.RouteBackend{Reference: service("pay", "api")}), sending(object.RouteBackend{Reference: service("pay", "db")}), []string{
			`r/backends.crossNamespace: spec.rules[0].backendRefs[0].namespace: Service "pay/db" is in another namespace`}},
		"copies": {same, sending(object.RouteBackend{Reference: service("pay", "api")}), copies, []string{
			`r/backends.crossNamespace: spec.rules[1].filters[1].requestMirror.backendRef.namespace: Service "pay/api" is in another namespace`}},
		"an authority": {same, copies, filtering(askingAbout(service("pay", "api"))), []string{
			`r/backends.crossNamespace: spec.rules[0].filters[0].externalAuth.backendRef.namespace: Service "pay/api" is in another namespace`}},
		"the same authority": {same, filtering(askingAbout(service("pay", "api"))), filtering(object.RouteFilter{}, askingAbout(service("pay", "api"))), nil},
	})
}

func filtering(filters ...object.RouteFilter) object.Route {
	return object.Route{Rules: []object.RouteRule{{Filters: filters}}}
}

func TestRouteFilters(t *testing.T) {
	const denied = `filters: {denied: [RequestMirror, ExtensionRef, URLRewrite, ExternalAuth]}`
	rewrite := object.RouteFilter{Type: "URLRewrite"}
	extension := func(name string) object.RouteFilter {
		return object.RouteFilter{Type: "ExtensionRef", Extension: &object.Reference{Kind: "Filter.x.example", Namespace: "", Name: name}}
	}
	testRoutes(t, map[string]routeCase{
		"others":    {denied, "", filtering(object.RouteFilter{Type: "RequestHeaderModifier"}, object.RouteFilter{}), nil},
		"of a rule": {denied, "", filtering(object.RouteFilter{Type: "CORS"}, rewrite), []string{`r/filters.denied: spec.rules[0].filters[1].type: "URLRewrite" is denied; remove the filter`}},
		"of a backend": {denied, "", sending(object.RouteBackend{}, object.RouteBackend{Filters: []object.RouteFilter{extension("a")}}), []string{
			`r/filters.denied: spec.rules[0].backendRefs[1].filters[0].type: "ExtensionRef" is denied; remove the filter`}},
	})
	testRouteUpdates(t, map[string]routeUpdate{
		"as many":            {denied, filtering(rewrite), object.Route{Rules: []object.RouteRule{{}, {Filters: []object.RouteFilter{rewrite}}}}, nil},
		"the same again":     {denied, filtering(rewrite), filtering(rewrite, rewrite), nil},
		"another content":    {denied, filtering(rewrite), filtering(rewrite, object.RouteFilter{Type: "URLRewrite", Content: "{}"}), []string{`r/filters.denied: spec.rules[0].filters[1].type: "URLRewrite" is denied; remove the filter`}},
		"the same extension": {denied, filtering(extension("a")), filtering(extension("a"), extension("a")), nil},
		"another extension":  {denied, filtering(extension("a")), filtering(extension("b")), []string{`r/filters.denied: spec.rules[0].filters[0].type: "ExtensionRef" is denied; remove the filter`}},
		"another type for the same object": {denied,
			filtering(object.RouteFilter{Type: "ExtensionRef", Extension: new(service("", "a"))}), filtering(mirrorTo(service("", "a"))),
			[]string{`r/filters.denied: spec.rules[0].filters[0].type: "RequestMirror" is denied; remove the filter`}},
		"another authority": {denied, filtering(askingAbout(service("", "a"))), filtering(askingAbout(service("", "b"))), []string{
			`r/filters.denied: spec.rules[0].filters[0].type: "ExternalAuth" is denied; remove the filter`}},
		"another copy": {denied, filtering(mirrorTo(service("", "a"))), filtering(mirrorTo(service("", "b"))), []string{
			`r/filters.denied: spec.rules[0].filters[0].type: "RequestMirror" is denied; remove the filter`}},
	})
}

// An entry applies to the kinds that it lists, whatever kind the object contains.
func TestRouteKinds(t *testing.T) {
	p := mustLoad(t, routesRule("kinds: [GRPCRoute, TLSRoute]\n  annotations: {denied: [a]}"))
	route := &object.Route{Meta: object.Meta{Annotations: map[string]string{"a": "b"}}}
	for resource, want := range map[string]int{httpRoutes: 0, grpcRoutes: 1, tlsRoutes: 1, tcpRoutes: 0, udpRoutes: 0} {
		if got := must(Routes.Evaluate(p, creatingRoute(resource), route, nil, nil)); len(got) != want {
			t.Errorf("%s: %v", resource, got)
		}
	}
	got := Routes.Explain(p, creatingRoute(httpRoutes), route)
	if want := (RuleTrace{Rule: "r", Mode: Enforce, Why: "not matched: kinds does not have httproutes"}); got[0] != want {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
}

// All blocks of a rule have findings, in the order of its fields. labels, users and groups match and exclude.
func TestRoutesOrder(t *testing.T) {
	p := mustLoad(t, routesRule(`message: "ask #network"
  match: {users: ["*"], labels: [app]}
  exclude: {groups: [break-glass]}
  annotations: {denied: ["example.com/*"]}
  filters: {denied: [URLRewrite]}
  backends: {kinds: []}
  parents: {crossNamespace: deny}
  paths: {types: []}
  hosts: {allowed: []}`))
	route := object.Route{
		Meta:    object.Meta{Labels: map[string]string{"app": "x"}, Annotations: map[string]string{"example.com/x": "y"}},
		Parents: []object.RouteParent{gateway("edge", "a", "")},
		Rules:   []object.RouteRule{{Filters: []object.RouteFilter{{Type: "URLRewrite"}}, Backends: []object.RouteBackend{{Reference: service("", "a")}}}},
	}
	a := creatingRoute("")
	a.User = "jane"
	var got []string
	for _, f := range must(Routes.Evaluate(p, a, &route, nil, nil)) {
		if got = append(got, f.Check); f.Note != "ask #network" {
			t.Errorf("%s: the message is missing", f.ID())
		}
	}
	want := []string{"hosts.allowed", "paths.types", "parents.crossNamespace", "backends.kinds", "filters.denied", "annotations.denied"}
	equal(t, want, got)
	a.Groups = []string{"break-glass"}
	if fs := must(Routes.Evaluate(p, a, &route, nil, nil)); fs != nil {
		t.Errorf("excluded, but %v", fs)
	}
}

func TestRoutesErrors(t *testing.T) {
	testErrors(t, "routes", routesRule, map[string]string{
		`kinds: [HTTPRoute]`:                          ": checks nothing: write hosts, paths, parents, backends, filters or annotations",
		"kinds: []\n  hosts: {required: true}":        "kinds: [] does not list any kind, so the entry does not apply to any object: leave the field out",
		"kinds: [Ingress]\n  hosts: {required: true}": `kinds[0]: "Ingress" is not a kind of routes: write HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute or Route`,
		`hosts: {}`:                                          "hosts: checks nothing: write required, allowed, denied, wildcards or max",
		`hosts: {meshHosts: true}`:                           "hosts: checks nothing: write required, allowed, denied, wildcards or max in addition to meshHosts",
		`hosts: {required: true, denied: []}`:                "hosts.denied: [] checks nothing: leave the field out",
		`paths: {}`:                                          "paths: checks nothing: write types, denied, deniedPatterns or unsafeCharacters",
		`paths: {types: [Prefix]}`:                           `paths.types[0]: "Prefix" is not a path type: write Exact, PathPrefix or RegularExpression`,
		`paths: {deniedPatterns: [internal]}`:                `paths.deniedPatterns: internal does not match any path: it is compared with the whole path, which begins with /; write .*internal.* for a part, or use denied`,
		`parents: {}`:                                        "parents: checks nothing: write allowed or crossNamespace",
		`parents: {allowed: [{}]}`:                           "parents.allowed[0]: checks nothing: write kind, namespace, name or sectionName",
		`parents: {crossNamespace: allow}`:                   `parents.crossNamespace: "allow" is not known here: write deny, or leave the field out to allow it`,
		`parents: {allowed: [{namespace: Edge}]}`:            `parents.allowed[0].namespace: "Edge" matches nothing: a namespace is written with lower case letters, digits and -, at most 63; write edge`,
		`backends: {}`:                                       "backends: checks nothing: write crossNamespace or kinds",
		`filters: {}`:                                        "filters: denied is required",
		`filters: {denied: []}`:                              "filters.denied: [] checks nothing: leave the field out",
		`filters: {denied: [Mirror]}`:                        `filters.denied[0]: "Mirror" is not a type of filters: write RequestHeaderModifier, ResponseHeaderModifier, RequestMirror, RequestRedirect, URLRewrite, ExtensionRef, CORS, ExternalAuth`,
		`annotations: {}`:                                    "annotations: checks nothing: write denied, required, values or deniedValues",
		"hosts: {max: 1}\n  match: {classNames: [a]}":        "match: classNames has no meaning here: only ingresses entries match Ingress classes",
		"hosts: {max: 1}\n  exclude: {podLabels: [app]}":     "exclude: podLabels has no meaning here: only mirrors and pods entries match Pods",
		"hosts: {max: 1}\n  exclude: {loadBalancerClass: a}": "exclude.loadBalancerClass: unknown field; known here: namespaces, users, groups, labels, until, reason",
	})
}

// TestLongParentsAreNotCopied checks that no rule copies a parent that is longer than any that the API server stores.
func TestLongParentsAreNotCopied(t *testing.T) {
	const long = 1 << 20
	p := mustLoad(t, routesRule("parents: {allowed: [{kind: Gateway}]}"))
	route := &object.Route{Parents: []object.RouteParent{{
		Reference: object.Reference{Kind: strings.Repeat("k", long), Name: "a"}, SectionName: strings.Repeat("s", long),
	}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	findings, err := Routes.Evaluate(p, object.Attributes{Operation: object.Update, Resource: "httproutes"}, route, route, new(Effort))
	runtime.ReadMemStats(&after)
	if err != nil || len(findings) != 1 || !findings[0].Existed {
		t.Fatalf("%v, %v: want one that existed", findings, err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > long/4 {
		t.Errorf("%d bytes were allocated", allocated)
	}
}
