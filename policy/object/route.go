package object

// Route is the part of a Gateway API route that decisions depend on. The route is an HTTPRoute, GRPCRoute, TLSRoute,
// TCPRoute or UDPRoute of gateway.networking.k8s.io. Attributes.Resource is its resource, which decides which fields of
// a Route have a meaning.
type Route struct {
	Meta
	Hostnames []string
	Parents   []RouteParent
	// DefaultGateways is spec.useDefaultGateways, an experimental field. All also attaches the route to Gateways that are
	// not in its parentRefs. An empty value and None do not attach it to other Gateways.
	DefaultGateways string
	Rules           []RouteRule
}

// Reference is a reference to another object. Absent fields have the defaults of Gateway API.
type Reference struct {
	// Kind is followed by a dot and the group, except for the core group. Examples are Service and
	// Gateway.gateway.networking.k8s.io.
	Kind      string
	Namespace string // empty means the namespace of the object with the reference
	Name      string
}

// RouteParent is one element of spec.parentRefs. It references a Gateway, a ListenerSet, or a Service in a mesh.
type RouteParent struct {
	Reference
	SectionName string // name of a listener; empty means all listeners
	Port        int32  // of listeners; 0 means all listeners
}

// RouteRule is one element of spec.rules.
type RouteRule struct {
	Matches  []RouteMatch // an empty list matches every request
	Filters  []RouteFilter
	Backends []RouteBackend
	// SessionName is sessionPersistence.sessionName, an experimental field. It is the name of a cookie or a header.
	SessionName string
}

// RouteMatch is one element of spec.rules[].matches. It selects the requests to which the rule applies.
type RouteMatch struct {
	Path   RoutePath   // of an HTTPRoute
	Method RouteMethod // of a GRPCRoute
	// Headers and QueryParams are further conditions for a request. GRPCRoutes do not have QueryParams.
	Headers, QueryParams []MatchText
}

// MatchText is one element of headers or queryParams of a match.
type MatchText struct{ Name, Value string }

// RoutePath is the field path of a match. An empty Type means PathPrefix, and an empty Value means /.
type RoutePath struct{ Type, Value string }

// RouteMethod is the field method of a match. An empty Type means Exact. An empty Service or Method means all services
// or methods.
type RouteMethod struct{ Type, Service, Method string }

// RouteBackend is one element of spec.rules[].backendRefs.
type RouteBackend struct {
	Reference
	Port    int32 // 0 if absent
	Filters []RouteFilter
}

// RouteFilter is one element of a list of filters in a route or a listener.
type RouteFilter struct {
	Type string // RequestMirror, URLRewrite, …
	// Mirror is requestMirror.backendRef, which gets a copy of each request. It is nil if absent.
	Mirror *Reference
	// Auth is externalAuth.backendRef, which gets each request and decides whether it is allowed. It is nil if absent.
	Auth *Reference
	// MirrorPort and AuthPort are the ports of these backends. They are 0 if absent.
	MirrorPort, AuthPort int32
	// Extension is extensionRef. It is nil if absent.
	Extension *Reference
	// Content is the JSON configuration of a filter of another type, such as urlRewrite or requestHeaderModifier.
	Content string
	// Texts are the names, values, hosts and paths of the filter, which controllers write into their configuration.
	Texts []FilterText
}

// FilterText is a text in a filter. For example, for requestHeaderModifier.set[2].value, Field is
// requestHeaderModifier, In is set[].value and Index is 2.
type FilterText struct {
	Field, In string
	Index     int32 // index in the list; 0 if In does not contain []
	Value     string
}
