package object

// OpenShiftRoute is the part of a route.openshift.io/v1 Route that decisions depend on.
type OpenShiftRoute struct {
	Meta
	Host      string // empty if the server does not set it; each router then decides
	Subdomain string // used if Host is empty; each router serves the subdomain below its domain
	// WildcardPolicy is None or Subdomain. With Subdomain, the Route serves all hosts one label below the parent of Host,
	// and not only Host. An empty value means None.
	WildcardPolicy string
	Path           string // a prefix; empty means every path
	// Backends contains the kinds in spec.to and in spec.alternateBackends. An empty kind means Service.
	Backends []string
}
