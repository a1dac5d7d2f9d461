package object

// Gateway is the part of a Gateway or a ListenerSet that decisions depend on. A ListenerSet adds listeners to a
// Gateway. It has only metadata and listeners.
type Gateway struct {
	Meta
	ClassName string // spec.gatewayClassName; empty for a ListenerSet
	Listeners []Listener
	Addresses []GatewayAddress
	// AllowedListeners is spec.allowedListeners.namespaces; nil when absent.
	AllowedListeners *ListenerNamespaces
	// InfrastructureAnnotations are set on the objects that are created for the Gateway, usually a Service.
	InfrastructureAnnotations map[string]string
	// FrontendCAs are the client certificate authorities: spec.tls.frontend.default.validation.caCertificateRefs.
	FrontendCAs []CertificateRef
	// PortCAs are the authorities for single ports: spec.tls.frontend.perPort[].tls.validation.caCertificateRefs.
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

// ListenerTLS is the tls field of a listener.
type ListenerTLS struct {
	Mode            string // Terminate or Passthrough; empty means Terminate
	CertificateRefs []CertificateRef
}

// CertificateRef is a reference to an object such as a Secret or a ConfigMap. An empty Namespace means the namespace of
// the referring object.
type CertificateRef struct {
	Namespace, Name string
}

// GatewayAddress is one element of spec.addresses. An empty Type means IPAddress.
type GatewayAddress struct {
	Type, Value string
}

// ListenerNamespaces selects the namespaces from which routes or ListenerSets may attach.
type ListenerNamespaces struct {
	From     string             // All, Selector, Same or None; empty means the default of the field
	Selector *NamespaceSelector // nil when absent
}

// NamespaceSelector selects namespaces by their labels.
type NamespaceSelector struct {
	MatchLabels      map[string]string
	MatchExpressions []SelectorExpression
}

// SelectorExpression is one element of matchExpressions. The checks do not need its values.
type SelectorExpression struct {
	Key, Operator string
}
