package policy

// Gateway is the part that decisions depend on of a Gateway, and of a ListenerSet, which adds listeners to one. A
// ListenerSet has metadata and listeners alone.
type Gateway struct {
	Meta
	ClassName string // spec.gatewayClassName; empty for a ListenerSet
	Listeners []Listener
	Addresses []GatewayAddress
	// AllowedListeners is spec.allowedListeners.namespaces; nil when absent.
	AllowedListeners *ListenerNamespaces
	// InfrastructureAnnotations are put on what is created for the Gateway, a Service as a rule.
	InfrastructureAnnotations map[string]string
	// FrontendCAs are the authorities of client certificates: spec.tls.frontend.default.validation.caCertificateRefs.
	FrontendCAs []CertificateRef
	// PortCAs are those of single ports: spec.tls.frontend.perPort[].tls.validation.caCertificateRefs.
	PortCAs [][]CertificateRef
	// BackendCertificate is spec.tls.backend.clientCertificateRef; nil when absent.
	BackendCertificate *CertificateRef
}

// Listener is one element of spec.listeners.
type Listener struct {
	Name     string
	Hostname string // empty means every host
	Port     int32
	Protocol string       // HTTP, HTTPS, TLS, TCP, UDP, or another text
	TLS      *ListenerTLS // nil when absent
	// AllowedRoutes is allowedRoutes.namespaces; nil when absent.
	AllowedRoutes *ListenerNamespaces
	// Filters is filters.requests, an experimental field: these filters run on each request before a route is chosen.
	Filters []RouteFilter
}

// ListenerTLS is the tls of a listener.
type ListenerTLS struct {
	Mode            string // Terminate or Passthrough; empty means Terminate
	CertificateRefs []CertificateRef
}

// CertificateRef is a reference to a Secret, a ConfigMap or the like. An empty Namespace means that of the object.
type CertificateRef struct {
	Namespace, Name string
}

// GatewayAddress is one element of spec.addresses. An empty Type means IPAddress.
type GatewayAddress struct {
	Type, Value string
}

// ListenerNamespaces says from which namespaces routes or ListenerSets may attach.
type ListenerNamespaces struct {
	From     string             // All, Selector, Same or None; empty means the default of the field
	Selector *NamespaceSelector // nil when absent
}

// NamespaceSelector is a selector by the labels of namespaces.
type NamespaceSelector struct {
	MatchLabels      map[string]string
	MatchExpressions []SelectorExpression
}

// SelectorExpression is one element of matchExpressions. Its values do not matter here.
type SelectorExpression struct {
	Key, Operator string
}
