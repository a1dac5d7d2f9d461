package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

// gatewayGroup is the group of Gateway API.
const gatewayGroup = "gateway.networking.k8s.io"

// Routes returns the Gateway API route kinds: HTTPRoute, GRPCRoute, TLSRoute, TCPRoute and UDPRoute of
// gateway.networking.k8s.io/v1. The older versions are in Gateway API releases up to v1.6. Their fields that affect
// decisions are the same.
func Routes() Objects[object.Route] {
	kind := func(name, resource string, older ...string) Kind {
		return Kind{name, Resource{gatewayGroup, "v1", resource}, older}
	}
	return Objects[object.Route]{[]Kind{
		kind("HTTPRoute", "httproutes", "v1beta1", "v1alpha2"),
		kind("GRPCRoute", "grpcroutes", "v1alpha2"),
		kind("TLSRoute", "tlsroutes", "v1alpha3", "v1alpha2"),
		kind("TCPRoute", "tcproutes", "v1alpha2"),
		kind("UDPRoute", "udproutes", "v1alpha2"),
	}, readRoute, readRoute, nil, false}
}

func readRoute(r *jsonscan.Reader, route *object.Route) {
	for name := range r.Fields {
		switch string(name) {
		case "metadata":
			readMeta(r, &route.Meta)
		case "spec":
			readRouteSpec(r, route)
		}
	}
}

func readRouteSpec(r *jsonscan.Reader, route *object.Route) {
	for name := range r.Fields {
		switch string(name) {
		case "hostnames":
			route.Hostnames = r.Strings()
		case "parentRefs":
			route.Parents = jsonscan.List(r, readRouteParent)
		case "useDefaultGateways":
			route.DefaultGateways = r.String()
		case "rules":
			route.Rules = jsonscan.List(r, readRouteRule)
		}
	}
}

func readRouteParent(r *jsonscan.Reader, p *object.RouteParent) {
	ref := reference{group: gatewayGroup, kind: "Gateway"}
	for name := range r.Fields {
		switch string(name) {
		case "sectionName":
			p.SectionName = r.String()
		case "port":
			p.Port = r.Int32()
		default:
			ref.read(r, name)
		}
	}
	p.Reference = ref.object()
}

// reference is a reference to an object while it is read. It starts with the group and the kind that apply if the
// reference does not set them.
type reference struct{ group, kind, namespace, name string }

// read reads a field of the reference and skips other fields.
func (o *reference) read(r *jsonscan.Reader, field []byte) {
	switch string(field) {
	case "group":
		if !r.Null() {
			o.group = r.String()
		}
	case "kind":
		if !r.Null() {
			o.kind = r.String()
		}
	case "namespace":
		o.namespace = r.String()
	case "name":
		o.name = r.String()
	}
}

// object returns the complete reference.
func (o *reference) object() object.Reference {
	kind := o.kind
	switch {
	case o.group == "":
	case o.group == gatewayGroup && kind == "Gateway": // nearly always; without allocating
		kind = "Gateway." + gatewayGroup
	default:
		kind += "." + o.group
	}
	return object.Reference{Kind: kind, Namespace: o.namespace, Name: o.name}
}

func readRouteRule(r *jsonscan.Reader, rule *object.RouteRule) {
	for name := range r.Fields {
		switch string(name) {
		case "matches":
			rule.Matches = jsonscan.List(r, readRouteMatch)
		case "filters":
			rule.Filters = jsonscan.List(r, readRouteFilter)
		case "backendRefs":
			rule.Backends = jsonscan.List(r, readRouteBackend)
		case "sessionPersistence":
			for name := range r.Fields {
				if string(name) == "sessionName" {
					rule.SessionName = r.String()
				}
			}
		}
	}
}

func readRouteMatch(r *jsonscan.Reader, m *object.RouteMatch) {
	for name := range r.Fields {
		switch string(name) {
		case "path":
			readRoutePath(r, &m.Path)
		case "method": // in an HTTPRoute it is a string, such as GET, which does not affect the decision
			if !r.IsString() {
				readRouteMethod(r, &m.Method)
			}
		case "headers":
			m.Headers = jsonscan.List(r, readMatchText)
		case "queryParams":
			m.QueryParams = jsonscan.List(r, readMatchText)
		}
	}
}

func readMatchText(r *jsonscan.Reader, t *object.MatchText) {
	for name := range r.Fields {
		switch string(name) {
		case "name":
			t.Name = r.String()
		case "value":
			t.Value = r.String()
		}
	}
}

func readRoutePath(r *jsonscan.Reader, p *object.RoutePath) {
	for name := range r.Fields {
		switch string(name) {
		case "type":
			p.Type = r.String()
		case "value":
			p.Value = r.String()
		}
	}
}

func readRouteMethod(r *jsonscan.Reader, m *object.RouteMethod) {
	for name := range r.Fields {
		switch string(name) {
		case "type":
			m.Type = r.String()
		case "service":
			m.Service = r.String()
		case "method":
			m.Method = r.String()
		}
	}
}

func readRouteBackend(r *jsonscan.Reader, b *object.RouteBackend) {
	ref := reference{kind: "Service"}
	for name := range r.Fields {
		switch string(name) {
		case "filters":
			b.Filters = jsonscan.List(r, readRouteFilter)
		case "port":
			b.Port = r.Int32()
		default:
			ref.read(r, name)
		}
	}
	b.Reference = ref.object()
}

func readRouteFilter(r *jsonscan.Reader, f *object.RouteFilter) {
	for name := range r.Fields {
		switch string(name) {
		case "type":
			f.Type = r.String()
		case "requestMirror":
			f.Mirror, f.MirrorPort = readFilterBackend(r, skipped)
		case "externalAuth":
			t := filterTexts{f, "externalAuth"}
			f.Auth, f.AuthPort = readFilterBackend(r, t.readAuth)
		case "extensionRef":
			f.Extension = jsonscan.Optional(r, readExtension)
		case "requestHeaderModifier":
			filterTexts{f, "requestHeaderModifier"}.readContent(r, filterTexts.readHeaders)
		case "responseHeaderModifier":
			filterTexts{f, "responseHeaderModifier"}.readContent(r, filterTexts.readHeaders)
		case "requestRedirect":
			filterTexts{f, "requestRedirect"}.readContent(r, filterTexts.readRedirect)
		case "urlRewrite":
			filterTexts{f, "urlRewrite"}.readContent(r, filterTexts.readRewrite)
		case "cors":
			filterTexts{f, "cors"}.readContent(r, filterTexts.readCORS)
		}
	}
}

func readExtension(r *jsonscan.Reader, o *object.Reference) {
	var ref reference
	for name := range r.Fields {
		ref.read(r, name)
	}
	*o = ref.object()
}

// readFilterBackend returns the backend of a filter and its port. The backend is a Service by default, even if it is
// absent. It calls others for each other field.
func readFilterBackend(
	r *jsonscan.Reader, others func(r *jsonscan.Reader, field []byte),
) (ref *object.Reference, port int32) {
	backend := jsonscan.Optional(r, func(r *jsonscan.Reader, b *object.RouteBackend) {
		b.Kind = "Service"
		for name := range r.Fields {
			if string(name) == "backendRef" {
				readRouteBackend(r, b)
			} else {
				others(r, name)
			}
		}
	})
	if backend == nil {
		return nil, 0
	}
	return &backend.Reference, backend.Port
}

// skipped does not read the value.
func skipped(*jsonscan.Reader, []byte) {}
