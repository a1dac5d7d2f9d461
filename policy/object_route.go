package policy

// Route is the part of a route of Gateway API that decisions depend on: of an HTTPRoute, GRPCRoute, TLSRoute, TCPRoute
// or UDPRoute of gateway.networking.k8s.io. Attributes.Resource says of which one, and so which of its fields have a
// meaning.
type Route struct {
	Meta
	Hostnames []string
	Parents   []RouteParent
	// DefaultGateways is spec.useDefaultGateways, an experimental field: All attaches the route to Gateways that it does
	// not name; empty and None to no further ones.
	DefaultGateways string
	Rules           []RouteRule
}

// ObjectRef is a reference to another object. Of a field that is absent it has the default of Gateway API.
type ObjectRef struct {
	// Kind has the group behind a dot, unless that is core: Service, Gateway.gateway.networking.k8s.io.
	Kind      string
	Namespace string // empty for that of the object that refers
	Name      string
}

// RouteParent is one element of spec.parentRefs: a Gateway, a ListenerSet, or a Service of a mesh.
type RouteParent struct {
	ObjectRef
	SectionName string // of a listener; empty for all listeners
	Port        int32  // of listeners; 0 for all of them
}

// RouteRule is one element of spec.rules.
type RouteRule struct {
	Matches  []RouteMatch // none: every request
	Filters  []RouteFilter
	Backends []RouteBackend
	// SessionName is sessionPersistence.sessionName, an experimental field: the name of a cookie or of a header.
	SessionName string
}

// RouteMatch is one element of spec.rules[].matches: what requests the rule takes.
type RouteMatch struct {
	Path   RoutePath   // of an HTTPRoute
	Method RouteMethod // of a GRPCRoute
	// Headers and QueryParams are what a request must have too. GRPCRoutes have no QueryParams.
	Headers, QueryParams []MatchText
}

// MatchText is one element of headers or queryParams of a match.
type MatchText struct{ Name, Value string }

// RoutePath is the field path of a match. Empty fields stand for PathPrefix and /.
type RoutePath struct{ Type, Value string }

// RouteMethod is the field method of a match. An empty type stands for Exact, an empty service or method for all.
type RouteMethod struct{ Type, Service, Method string }

// RouteBackend is one element of spec.rules[].backendRefs.
type RouteBackend struct {
	ObjectRef
	Port    int32 // 0 when absent
	Filters []RouteFilter
}

// RouteFilter is one element of a list of filters, of a route or of a listener.
type RouteFilter struct {
	Type string // RequestMirror, URLRewrite, …
	// Mirror is requestMirror.backendRef, to which a copy of each request is sent; nil when absent.
	Mirror *ObjectRef
	// Auth is externalAuth.backendRef, which gets each request to decide about it; nil when absent.
	Auth *ObjectRef
	// MirrorPort and AuthPort are the ports of these backends; 0 when absent.
	MirrorPort, AuthPort int32
	// Extension is extensionRef; nil when absent.
	Extension *ObjectRef
	// Content is the JSON of what a filter of another type does, such as urlRewrite or requestHeaderModifier.
	Content string
	// Texts are the names, values, hosts and paths of the filter, which controllers write into their configuration.
	Texts []FilterText
}

// FilterText is a text of a filter: requestHeaderModifier.set[2].value is the text of the field requestHeaderModifier,
// in set[].value, at the index 2.
type FilterText struct {
	Field, In string
	Index     int32 // of the element of a list; 0 where In has no []
	Value     string
}
