package review

import (
	stdcmp "cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review/reviewtest"
)

func TestParseRoute(t *testing.T) {
	got, err := Routes().Parse([]byte(`{"kind":"TCPRoute","metadata":{"name":"web","labels":{"a":"b"}},
		"spec":{"hostnames":["a.example",null],"useDefaultGateways":"All",
		"parentRefs":[{"name":"g"},{"group":"","kind":"Service","namespace":"n","name":"s","sectionName":"x","port":80},
		{"group":null,"kind":null,"name":"h"},{"kind":"ListenerSet","name":"l"},null],
		"rules":[{"matches":[{"path":{"type":"Exact","value":"/a"},"method":"GET"},
		{"method":{"type":"Exact","service":"a.B","method":"C"}},{}],
		"filters":[{"type":"RequestMirror","requestMirror":{"backendRef":{"name":"m","namespace":"o"},"percent":5}},
		{"type":"ExtensionRef","extensionRef":{"group":"x.example","kind":"Filter","name":"f"}},
		{"type":"CORS","requestMirror":null},
		{"type":"ExternalAuth","externalAuth":{"protocol":"HTTP","backendRef":{"namespace":"o","name":"a"}}}],
		"backendRefs":[{"name":"b","port":80,"weight":1,"filters":[{"type":"URLRewrite"}]},
		{"group":"x.example","kind":"Import","namespace":"p","name":"i"}]},null]},"status":{"hostnames":["no"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	const gateway = "Gateway.gateway.networking.k8s.io"
	want := &object.Route{
		Meta:            object.Meta{Name: "web", Labels: map[string]string{"a": "b"}},
		Hostnames:       []string{"a.example", ""},
		DefaultGateways: "All",
		Parents: []object.RouteParent{
			{Reference: object.Reference{Kind: gateway, Name: "g"}},
			{Reference: object.Reference{Kind: "Service", Namespace: "n", Name: "s"}, SectionName: "x", Port: 80},
			{Reference: object.Reference{Kind: gateway, Name: "h"}},
			{Reference: object.Reference{Kind: "ListenerSet.gateway.networking.k8s.io", Name: "l"}},
			{Reference: object.Reference{Kind: gateway}},
		},
		Rules: []object.RouteRule{
			{
				Matches: []object.RouteMatch{
					{Path: object.RoutePath{Type: "Exact", Value: "/a"}},
					{Method: object.RouteMethod{Type: "Exact", Service: "a.B", Method: "C"}},
					{},
				},
				Filters: []object.RouteFilter{
					{Type: "RequestMirror", Mirror: &object.Reference{Kind: "Service", Namespace: "o", Name: "m"}},
					{Type: "ExtensionRef", Extension: &object.Reference{Kind: "Filter.x.example", Name: "f"}},
					{Type: "CORS"},
					{Type: "ExternalAuth", Auth: &object.Reference{Kind: "Service", Namespace: "o", Name: "a"}},
				},
				Backends: []object.RouteBackend{
					{Reference: object.Reference{Kind: "Service", Name: "b"}, Port: 80, Filters: []object.RouteFilter{{Type: "URLRewrite"}}},
					{Reference: object.Reference{Kind: "Import.x.example", Namespace: "p", Name: "i"}},
				},
			},
			{},
		},
	}
	equal(t, want, got)
	for _, nulls := range []string{`{"spec":null}`, `{"spec":{"hostnames":null,"parentRefs":[],"rules":null}}`} {
		got, err := Routes().Parse([]byte(nulls))
		if diff := cmp.Diff(&object.Route{}, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %+v, %v", nulls, got, err)
		}
	}
	_, err = Routes().Parse([]byte(`{"spec":{"rules":[{"matches":[{"method":5}]}]}}`))
	wantContentError(t, err, "", "spec.rules[0].matches[0].method: want an object, got a number")
}

// Every kind of route is read like Gateway API's types.
func TestRoutesAreTyped(t *testing.T) {
	for i, body := range [][]byte{
		reviewtest.Create(reviewtest.HTTPRoute(16)), reviewtest.Create(reviewtest.GRPCRoute()),
		reviewtest.Create(reviewtest.TLSRoute()), reviewtest.Create(reviewtest.TCPRoute()),
		reviewtest.Create(reviewtest.UDPRoute()),
	} {
		if !compareKinds(t, body, Routes(), typedRoutes()) {
			t.Errorf("the typed decoder does not accept the %s", Routes().Kinds[i].Name)
		}
	}
}

// typedRoutes returns the types of Gateway API, in the order of Routes.
func typedRoutes() []typedKind[object.Route] {
	lacks := func(fields string) *regexp.Regexp {
		return regexp.MustCompile(`\bspec\.(` + fields + `)\b`)
	}
	// each calls drop for the rules of a route, and for their backends.
	each := func(dropRule func(*object.RouteRule), dropBackend func(*object.RouteBackend)) func(*object.Route) {
		return func(route *object.Route) {
			for i := range route.Rules {
				dropRule(&route.Rules[i])
				for j := range route.Rules[i].Backends {
					dropBackend(&route.Rules[i].Backends[j])
				}
			}
		}
	}
	// No typed decoder keeps the JSON of a filter or the order of its texts.
	contentless := func(filters []object.RouteFilter) {
		for i := range filters {
			filters[i].Content = ""
			slices.SortFunc(filters[i].Texts, byPlace)
		}
	}
	contents := each(func(rule *object.RouteRule) { contentless(rule.Filters) },
		func(b *object.RouteBackend) { contentless(b.Filters) })
	authless := func(filters []object.RouteFilter) {
		contentless(filters)
		for i := range filters {
			f := &filters[i]
			f.Auth, f.AuthPort = nil, 0
			f.Texts = slices.DeleteFunc(f.Texts, func(t object.FilterText) bool { return !strings.HasSuffix(t.Field, "Modifier") })
		}
	}
	httpOnly := each(func(rule *object.RouteRule) {
		for i := range rule.Matches {
			rule.Matches[i].Path, rule.Matches[i].QueryParams = object.RoutePath{}, nil
		}
		authless(rule.Filters)
	}, func(b *object.RouteBackend) { authless(b.Filters) })
	matches := each(
		func(rule *object.RouteRule) { rule.Matches, rule.Filters, rule.SessionName = nil, nil, "" },
		func(b *object.RouteBackend) { b.Filters = nil },
	)
	const ofRules = `rules\[\d+\]\.(matches|filters|backendRefs\[\d+\]\.filters|sessionPersistence)`
	const ofFilters = `(backendRefs\[\d+\]\.)?filters\[\d+\]\.(externalAuth|requestRedirect|urlRewrite|cors)`
	hostnames := func(route *object.Route) {
		route.Hostnames = nil
		matches(route)
	}
	return []typedKind[object.Route]{
		{typed: typedHTTPRoute, drop: contents},
		{typedGRPCRoute, lacks(`rules\[\d+\]\.(matches\[\d+\]\.(path|queryParams)|` + ofFilters + `)`), httpOnly},
		{typedTLSRoute, lacks(ofRules), matches},
		{typedTCPRoute, lacks("hostnames|" + ofRules), hostnames},
		{typedUDPRoute, lacks("hostnames|" + ofRules), hostnames},
	}
}

// The texts of filters are read as Gateway API's own types read them.
func TestFilterTexts(t *testing.T) {
	const filters = `[{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":"a","value":"b"},null,{"name":"c"}],` +
		`"add":[{"value":"d"}],"remove":["e",null,"f"]},"responseHeaderModifier":{"remove":["g"],"set":null}},` +
		`{"requestRedirect":{"scheme":"https","hostname":"h","port":80,"path":{"type":"x","replaceFullPath":"/i"},"statusCode":301}},` +
		`{"urlRewrite":{"hostname":"j","path":{"replacePrefixMatch":"/k"}}},{"urlRewrite":null},` +
		`{"cors":{"allowOrigins":["l"],"allowMethods":["m","GET"],"allowHeaders":["n"],"exposeHeaders":["o"],"maxAge":5}},` +
		`{"externalAuth":{"protocol":"HTTP","backendRef":{"name":"p"},"http":{"path":"/q","allowedHeaders":["r"],` +
		`"allowedResponseHeaders":["s"]},"grpc":{"allowedHeaders":["t"]},"forwardBody":{"maxSize":1}}}]`
	const object = `{"spec":{"rules":[{"filters":` + filters + `,"sessionPersistence":{"sessionName":"u","type":"Cookie"},` +
		`"backendRefs":[{"name":"v","filters":` + filters + `}]}]}}`
	for _, resource := range []string{"httproutes", "grpcroutes"} {
		if !compareKinds(t, []byte(creation(resource, object)), Routes(), typedRoutes()) {
			t.Errorf("the typed decoder does not take the %s", resource)
		}
	}
	route, err := Routes().Parse([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	texts := ""
	for _, f := range route.Rules[0].Filters {
		for _, text := range f.Texts {
			texts += text.Value
		}
	}
	if want := "abcdefghttps" + "h/ij/klmGETno/qrst"; texts != want || route.Rules[0].SessionName != "u" {
		t.Errorf("got %s and %q, want %s", texts, route.Rules[0].SessionName, want)
	}
	const content = `{"hostname":"j","path":{"replacePrefixMatch":"/k"}}`
	if got := route.Rules[0].Filters[2].Content; got != content {
		t.Errorf("got %s, want %s", got, content)
	}
	_, err = Routes().Parse([]byte(`{"spec":{"rules":[{"filters":[{"requestHeaderModifier":{"remove":"x"}}]}]}}`))
	wantContentError(t, err, "", "spec.rules[0].filters[0].requestHeaderModifier.remove: want a list, got a string")
}

func FuzzDecodeRoute(f *testing.F) {
	seed(f, reviewtest.Update(reviewtest.HTTPRoute(2), reviewtest.HTTPRoute(1)), "httproutes",
		`{"spec":{"hostnames":[null,"h"],"useDefaultGateways":null,"parentRefs":[null,{"group":"","kind":null}]}}`,
		`{"spec":{"rules":[null,{"matches":[{"path":null,"method":"A"}],"filters":[{"requestMirror":{"backendRef":{}}},`+
			`{"externalAuth":{"backendRef":{"group":null,"kind":"k"}}},{"externalAuth":{}}]}]}}`,
		`{"spec":{"rules":[{"backendRefs":[null,{"group":null,"filters":[{"type":"CORS","extensionRef":{"group":"a"}}]}]}]}}`,
	)
	for _, resource := range []string{"grpcroutes", "tlsroutes", "tcproutes", "udproutes"} {
		f.Add([]byte(creation(resource, `{"spec":{"hostnames":[null,"h"],"rules":[null,{"matches":[{"method":{"type":null,`+
			`"service":"a","method":"b"},"path":{"type":"a"}}],"filters":[{"type":"RequestMirror","requestMirror":{`+
			`"backendRef":{"name":"m"}}}],"backendRefs":[null,{"name":"a","filters":[`+
			`{"type":"ExtensionRef","extensionRef":{"kind":"k"}}]}]}]}}`)))
	}
	seedManifests(f, Routes().Kinds)
	f.Fuzz(func(t *testing.T, body []byte) { compareKinds(t, body, Routes(), typedRoutes()) })
}

func typedHTTPRoute(raw []byte) (*object.Route, error) {
	var in gatewayv1.HTTPRoute
	err := unmarshal(raw, &in)
	route := typedRoute(in.Spec.CommonRouteSpec, in.Spec.Hostnames)
	route.Meta = typedMeta(in.ObjectMeta)
	for _, r := range in.Spec.Rules {
		var rule object.RouteRule
		for _, m := range r.Matches {
			var match object.RouteMatch
			if m.Path != nil {
				match.Path = object.RoutePath{Type: string(value(m.Path.Type)), Value: value(m.Path.Value)}
			}
			for _, h := range m.Headers {
				match.Headers = append(match.Headers, object.MatchText{Name: string(h.Name), Value: h.Value})
			}
			for _, q := range m.QueryParams {
				match.QueryParams = append(match.QueryParams, object.MatchText{Name: string(q.Name), Value: q.Value})
			}
			rule.Matches = append(rule.Matches, match)
		}
		rule.Filters = typedHTTPFilters(r.Filters)
		for _, b := range r.BackendRefs {
			rule.Backends = append(rule.Backends, object.RouteBackend{
				Reference: typedBackend(b.BackendObjectReference), Port: value(b.Port), Filters: typedHTTPFilters(b.Filters),
			})
		}
		if r.SessionPersistence != nil {
			rule.SessionName = value(r.SessionPersistence.SessionName)
		}
		route.Rules = append(route.Rules, rule)
	}
	return route, err
}

func typedHTTPFilters(in []gatewayv1.HTTPRouteFilter) (filters []object.RouteFilter) {
	for _, f := range in {
		filter := typedFilter(string(f.Type), f.RequestMirror, f.ExtensionRef)
		if f.ExternalAuth != nil {
			filter.Auth, filter.AuthPort = new(typedBackend(f.ExternalAuth.BackendRef)), value(f.ExternalAuth.BackendRef.Port)
		}
		filter.Texts = typedHTTPTexts(&f)
		filters = append(filters, filter)
	}
	return filters
}

func typedFilter(name string, m *gatewayv1.HTTPRequestMirrorFilter, e *gatewayv1.LocalObjectReference) object.RouteFilter {
	filter := object.RouteFilter{Type: name}
	if m != nil {
		filter.Mirror, filter.MirrorPort = new(typedBackend(m.BackendRef)), value(m.BackendRef.Port)
	}
	if e != nil {
		filter.Extension = &object.Reference{Kind: qualified(string(e.Group), string(e.Kind)), Name: string(e.Name)}
	}
	return filter
}

func typedGRPCFilter(f *gatewayv1.GRPCRouteFilter) object.RouteFilter {
	filter := typedFilter(string(f.Type), f.RequestMirror, f.ExtensionRef)
	filter.Texts = typedHeaderTexts(f.RequestHeaderModifier, f.ResponseHeaderModifier)
	slices.SortFunc(filter.Texts, byPlace)
	return filter
}

// typedTexts are texts of filters as the types of Gateway API have them.
type typedTexts []object.FilterText

func (t *typedTexts) add(field, in string, texts ...string) {
	for i, s := range texts {
		if s != "" {
			*t = append(*t, object.FilterText{Field: field, In: in, Index: int32(i), Value: s})
		}
	}
}

func typedHeaderTexts(request, response *gatewayv1.HTTPHeaderFilter) (all typedTexts) {
	for field, f := range map[string]*gatewayv1.HTTPHeaderFilter{
		"requestHeaderModifier": request, "responseHeaderModifier": response,
	} {
		if f == nil {
			continue
		}
		for list, headers := range map[string][]gatewayv1.HTTPHeader{"set": f.Set, "add": f.Add} {
			var names, values []string
			for _, h := range headers {
				names, values = append(names, string(h.Name)), append(values, h.Value)
			}
			all.add(field, list+"[].name", names...)
			all.add(field, list+"[].value", values...)
		}
		all.add(field, "remove[]", f.Remove...)
	}
	return all
}

func typedHTTPTexts(f *gatewayv1.HTTPRouteFilter) []object.FilterText {
	all := typedHeaderTexts(f.RequestHeaderModifier, f.ResponseHeaderModifier)
	path := func(field string, p *gatewayv1.HTTPPathModifier) {
		if p != nil {
			all.add(field, "path.replaceFullPath", value(p.ReplaceFullPath))
			all.add(field, "path.replacePrefixMatch", value(p.ReplacePrefixMatch))
		}
	}
	if r := f.RequestRedirect; r != nil {
		all.add("requestRedirect", "scheme", value(r.Scheme))
		all.add("requestRedirect", "hostname", optional(r.Hostname))
		path("requestRedirect", r.Path)
	}
	if r := f.URLRewrite; r != nil {
		all.add("urlRewrite", "hostname", optional(r.Hostname))
		path("urlRewrite", r.Path)
	}
	if c := f.CORS; c != nil {
		all.add("cors", "allowOrigins[]", plain(c.AllowOrigins)...)
		all.add("cors", "allowMethods[]", plain(c.AllowMethods)...)
		all.add("cors", "allowHeaders[]", plain(c.AllowHeaders)...)
		all.add("cors", "exposeHeaders[]", plain(c.ExposeHeaders)...)
	}
	if a := f.ExternalAuth; a != nil && a.HTTPAuthConfig != nil {
		all.add("externalAuth", "http.path", a.HTTPAuthConfig.Path)
		all.add("externalAuth", "http.allowedHeaders[]", a.HTTPAuthConfig.AllowedRequestHeaders...)
		all.add("externalAuth", "http.allowedResponseHeaders[]", a.HTTPAuthConfig.AllowedResponseHeaders...)
	}
	if a := f.ExternalAuth; a != nil && a.GRPCAuthConfig != nil {
		all.add("externalAuth", "grpc.allowedHeaders[]", a.GRPCAuthConfig.AllowedRequestHeaders...)
	}
	slices.SortFunc(all, byPlace)
	return all
}

// plain returns texts of a type of Gateway API as strings.
func plain[S ~string](list []S) (all []string) {
	for _, s := range list {
		all = append(all, string(s))
	}
	return all
}

// byPlace compares texts of filters by where they are.
func byPlace(a, b object.FilterText) int {
	return stdcmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.In, b.In), stdcmp.Compare(a.Index, b.Index))
}

func typedGRPCRoute(raw []byte) (*object.Route, error) {
	var in gatewayv1.GRPCRoute
	err := unmarshal(raw, &in)
	route := typedRoute(in.Spec.CommonRouteSpec, in.Spec.Hostnames)
	route.Meta = typedMeta(in.ObjectMeta)
	for _, r := range in.Spec.Rules {
		var rule object.RouteRule
		for _, m := range r.Matches {
			var match object.RouteMatch
			if m.Method != nil {
				match.Method = object.RouteMethod{
					Type: string(value(m.Method.Type)), Service: value(m.Method.Service), Method: value(m.Method.Method),
				}
			}
			for _, h := range m.Headers {
				match.Headers = append(match.Headers, object.MatchText{Name: string(h.Name), Value: h.Value})
			}
			rule.Matches = append(rule.Matches, match)
		}
		for _, f := range r.Filters {
			rule.Filters = append(rule.Filters, typedGRPCFilter(&f))
		}
		for _, b := range r.BackendRefs {
			backend := object.RouteBackend{Reference: typedBackend(b.BackendObjectReference), Port: value(b.Port)}
			for _, f := range b.Filters {
				backend.Filters = append(backend.Filters, typedGRPCFilter(&f))
			}
			rule.Backends = append(rule.Backends, backend)
		}
		if r.SessionPersistence != nil {
			rule.SessionName = value(r.SessionPersistence.SessionName)
		}
		route.Rules = append(route.Rules, rule)
	}
	return route, err
}

func typedTLSRoute(raw []byte) (*object.Route, error) {
	var in gatewayv1.TLSRoute
	err := unmarshal(raw, &in)
	route := typedRoute(in.Spec.CommonRouteSpec, in.Spec.Hostnames)
	route.Meta = typedMeta(in.ObjectMeta)
	for _, r := range in.Spec.Rules {
		route.Rules = append(route.Rules, typedRule(r.BackendRefs))
	}
	return route, err
}

func typedTCPRoute(raw []byte) (*object.Route, error) {
	var in gatewayv1.TCPRoute
	err := unmarshal(raw, &in)
	route := typedRoute(in.Spec.CommonRouteSpec, nil)
	route.Meta = typedMeta(in.ObjectMeta)
	for _, r := range in.Spec.Rules {
		route.Rules = append(route.Rules, typedRule(r.BackendRefs))
	}
	return route, err
}

func typedUDPRoute(raw []byte) (*object.Route, error) {
	var in gatewayv1.UDPRoute
	err := unmarshal(raw, &in)
	route := typedRoute(in.Spec.CommonRouteSpec, nil)
	route.Meta = typedMeta(in.ObjectMeta)
	for _, r := range in.Spec.Rules {
		route.Rules = append(route.Rules, typedRule(r.BackendRefs))
	}
	return route, err
}

func typedRule(backends []gatewayv1.BackendRef) (rule object.RouteRule) {
	for _, b := range backends {
		rule.Backends = append(rule.Backends, object.RouteBackend{
			Reference: typedBackend(b.BackendObjectReference), Port: value(b.Port),
		})
	}
	return rule
}

func typedRoute(spec gatewayv1.CommonRouteSpec, hostnames []gatewayv1.Hostname) *object.Route {
	route := &object.Route{DefaultGateways: string(spec.UseDefaultGateways)}
	for _, h := range hostnames {
		route.Hostnames = append(route.Hostnames, string(h))
	}
	for _, p := range spec.ParentRefs {
		group, kind := gatewayv1.Group(gatewayv1.GroupName), gatewayv1.Kind("Gateway")
		if p.Group != nil {
			group = *p.Group
		}
		if p.Kind != nil {
			kind = *p.Kind
		}
		route.Parents = append(route.Parents, object.RouteParent{
			Reference: object.Reference{
				Kind: qualified(string(group), string(kind)), Namespace: string(value(p.Namespace)), Name: string(p.Name),
			},
			SectionName: string(value(p.SectionName)), Port: value(p.Port),
		})
	}
	return route
}

func typedBackend(b gatewayv1.BackendObjectReference) object.Reference {
	kind := gatewayv1.Kind("Service")
	if b.Kind != nil {
		kind = *b.Kind
	}
	return object.Reference{
		Kind: qualified(string(value(b.Group)), string(kind)), Namespace: string(value(b.Namespace)), Name: string(b.Name),
	}
}

func qualified(group, kind string) string {
	if group == "" {
		return kind
	}
	return kind + "." + group
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
