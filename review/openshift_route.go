package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

// OpenShiftRoutes returns the kind Route of route.openshift.io/v1.
func OpenShiftRoutes() Objects[object.OpenShiftRoute] {
	kinds := []Kind{{"Route", Resource{"route.openshift.io", "v1", "routes"}, nil}}
	return Objects[object.OpenShiftRoute]{kinds, readOpenShiftRoute, readOpenShiftRoute, nil, false}
}

func readOpenShiftRoute(r *jsonscan.Reader, route *object.OpenShiftRoute) {
	for name := range r.Fields {
		switch string(name) {
		case "metadata":
			readMeta(r, &route.Meta)
		case "spec":
			readOpenShiftRouteSpec(r, route)
		}
	}
}

func readOpenShiftRouteSpec(r *jsonscan.Reader, route *object.OpenShiftRoute) {
	to := []string{""} // spec.to is required, and defaults to a Service if it is absent
	var alternate []string
	for name := range r.Fields {
		switch string(name) {
		case "host":
			route.Host = r.String()
		case "subdomain":
			route.Subdomain = r.String()
		case "wildcardPolicy":
			route.WildcardPolicy = r.String()
		case "path":
			route.Path = r.String()
		case "to":
			readBackendKind(r, &to[0])
		case "alternateBackends":
			alternate = jsonscan.List(r, readBackendKind)
		}
	}
	route.Backends = append(to, alternate...)
}

func readBackendKind(r *jsonscan.Reader, kind *string) {
	*kind = readNested(r, "kind")
}
