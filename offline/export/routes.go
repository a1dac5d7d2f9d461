package export

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

// gatewayGroup is the API group of Gateway API.
const gatewayGroup = "gateway.networking.k8s.io"

// routeKinds returns the kinds of routes that are supported, with their resources. OpenShift Routes are not
// supported.
func routeKinds() [][2]string {
	return [][2]string{
		{"HTTPRoute", "httproutes"}, {"GRPCRoute", "grpcroutes"}, {"TLSRoute", "tlsroutes"}, {"TCPRoute", "tcproutes"},
		{"UDPRoute", "udproutes"},
	}
}

// resourcesOf returns the resources of kinds.
func resourcesOf(kinds []string) (resources []string) {
	for _, k := range routeKinds() {
		if slices.Contains(kinds, k[0]) {
			resources = append(resources, k[1])
		}
	}
	return resources
}

// routes returns the kind for Gateway API routes. If a cluster does not have these resources, the exported policies
// have no effect.
func (x *exporter) routes() exportedKind {
	var all []string
	for _, k := range routeKinds() {
		all = append(all, k[1])
	}
	return exportedKind{
		name:       "routes",
		resources:  []admissionv1.NamedRuleWithOperations{rule(gatewayGroup, createAndUpdate(), all...)},
		conditions: []admissionv1.MatchCondition{notTheClusterItself(), validatedFieldsChange()},
		variables: func(s side) []variable {
			return []variable{
				x.solver(s, routeSolver),
				{"annotations" + s.suffix(), validatedAnnotationKeys(s)},
				{"parents" + s.suffix(), routeParents(s)},
				{"byDefault" + s.suffix(), attachesByDefault(s)},
				{"hosts" + s.suffix(), routeHosts(s)},
				{"annotated" + s.suffix(), x.routeAnnotations(s)},
				{"claims" + s.suffix(), routeClaims(s, false)},
				{"meshClaims" + s.suffix(), routeClaims(s, true)},
				{"paths" + s.suffix(), routePaths(s)},
				{"filters" + s.suffix(), eachFilter(s, routeFilter)},
				{"backends" + s.suffix(), routeBackends(s)},
			}
		},
		checks: routeChecks,
	}
}

// routeFields returns the exported fields of an entry.
func routeFields() known {
	hosts := fieldHostFields()
	hosts["meshHosts"] = nil
	return known{
		"kinds": nil, "hosts": hosts, "paths": routePathFields(), "parents": {"allowed": nil, "crossNamespace": nil},
		"backends": {"crossNamespace": nil, "kinds": nil}, "filters": {"denied": nil}, "annotations": annotationFields(),
		"subdomainDomains": nil, // applies only to OpenShift Routes
	}
}

// routeChecks returns the checks of an entry, in the order of policy/routes.go.
func routeChecks(e *policy.Entry) []check {
	claims := "claims"
	if blockOf(e, "hosts")["meshHosts"] != nil {
		claims = "meshClaims"
	}
	never := func(side) string { return "false" }
	return slices.Concat(
		hostChecks(blockOf(e, "hosts"), claims, "spec.hostnames"),
		unlessSolvers(pathChecks(blockOf(e, "paths"), never, "write type Exact or PathPrefix")),
		parentChecks(blockOf(e, "parents")),
		backendChecks(blockOf(e, "backends")),
		filterChecks(blockOf(e, "filters")),
		unlessSolvers(annotationChecks(blockOf(e, "annotations")), requiredAnnotation),
	)
}

// reference returns the fields of a reference to an object, as parts of a map: its kind with its group after a dot,
// its namespace and its name. of is an expression for the reference, and group and kind are the defaults.
func reference(of, group, kind string) string {
	kinds := bind("g", "string("+of+".?group.orValue('"+group+"'))", bind("d", "string("+of+".?kind.orValue('"+kind+"'))",
		"g==''?d:d+'.'+g"))
	return "'kind':" + kinds + ",'ns':" + bind("n", "string("+of+".?namespace.orValue(''))", "n==''?request.namespace:n") +
		",'name':string(" + of + ".?name.orValue(''))"
}

// described returns an expression for the reference in a variable, in the form of sentences.
func described(v string) string {
	return bind("o", v, "o.kind.endsWith('."+gatewayGroup+"')?o.kind.substring(0,size(o.kind)-"+number(len(gatewayGroup)+
		1)+
		"):o.kind") + "+' '+" + quote("("+v+".ns+'/'+"+v+".name)")
}

// referenceID returns an expression for the identity of the reference in a variable.
func referenceID(v string) string { return "[" + v + ".kind," + v + ".ns," + v + ".name].join('\\n')" }

// attachesByDefault returns a condition that a route attaches to Gateways that are not in its parents.
func attachesByDefault(s side) string {
	return "!(string(" + string(s) + ".spec.?useDefaultGateways.orValue('')) in ['','None'])"
}

// isMesh returns a condition that a route has parents and that all parents are Services.
func isMesh(s side) string {
	parents := "variables.parents" + s.suffix()
	return "size(" + parents + ")>0&&!variables.byDefault" + s.suffix() + "&&" + parents + ".all(r,r.kind=='Service')"
}

// routeHosts returns an expression for the claims of spec.hostnames, in which *.example includes names at any depth.
func routeHosts(s side) string {
	names := string(s) + ".spec.?hostnames.orValue([])"
	list := names + ".map(v,string(v)).transformList(i,v," +
		claim("'spec.hostnames['+string(i)+']'", atRule, anyDepth("v"), "v", "''") + ")"
	return choose("!(request.resource.resource in ['httproutes','grpcroutes','tlsroutes'])", "[]",
		choose("size("+names+")==0", "["+everyClaim("'spec.hostnames'", atNone)+"]", list))
}

// routeAnnotations returns an expression for the claims in the annotations of a route, by the table of its kind.
func (x *exporter) routeAnnotations(s side) string {
	claims := "[]"
	for _, k := range slices.Backward(routeKinds()) {
		claims = choose("request.resource.resource=='"+k[1]+"'", x.annotationClaims(s, "[]", k[0]), claims)
	}
	return claims
}

// routeClaims returns an expression for all claims of a route. If the route belongs to a mesh, its hostnames are left
// out, or follow the claims of annotations if mesh is true.
func routeClaims(s side, mesh bool) string {
	hosts, annotated := "variables.hosts"+s.suffix(), "variables.annotated"+s.suffix()
	inMesh := annotated
	if mesh {
		inMesh += "+" + hosts
	}
	return choose(isMesh(s), inMesh, hosts+"+"+annotated)
}

// routeParents returns an expression for spec.parentRefs.
func routeParents(s side) string {
	return string(s) + ".spec.?parentRefs.orValue([]).transformList(i,r,{'path':'spec.parentRefs['+string(i)+']'," +
		reference("r", gatewayGroup, "Gateway") + ",'section':string(r.?sectionName.orValue(''))," +
		"'port':string(r.?port.orValue(0))})"
}

// parentChecks returns the checks of the parents block, in the order of policy/route_parents.go.
func parentChecks(block policy.Fields) []check {
	var all []check
	const id, byDefault = "+'\\n'+r.section+'\\n'+r.port", "'spec.useDefaultGateways'"
	section := "+(r.section==''?'':', sectionName '+" + quote("r.section") + ")"
	add := func(name, fails, path, why, defaults string) {
		all = append(all, check{id: name, faults: func(s side) string {
			return bind("solver", "variables.solver"+s.suffix(), "variables.parents"+s.suffix()+".filter(r,"+fails+").map(r,"+
				fault("r.path"+path, referenceID("r")+id, described("r")+section+"+"+why)+")") + "+" +
				when("variables.byDefault"+s.suffix(), byDefault, byDefault, defaults)
		}})
	}
	if allowed, ok := block["allowed"].([]any); ok {
		conditions, names := make([]string, len(allowed)), make([]string, len(allowed))
		for i, a := range allowed {
			fields, _ := a.(policy.Fields)
			conditions[i], names[i] = parentPasses(fields), fields["text"].(string)
		}
		end := passing(names)
		add("parents.allowed", "!("+anyOf(conditions...)+")", "", str(" is not allowed"+end),
			str("attaches to Gateways that the route does not list"+end))
	}
	if block["crossNamespace"] != nil {
		add("parents.crossNamespace", "r.ns!=request.namespace", "+'.namespace'", "' is in another namespace'",
			"'attaches to Gateways of other namespaces; list parents in spec.parentRefs instead'")
	}
	return all
}

// parentPasses returns a condition that an element of parents.allowed covers the parent r.
func parentPasses(allowed policy.Fields) string {
	conditions := []string{"r.ns==request.namespace"}
	for _, field := range []struct{ name, value string }{
		{"namespace", "r.ns"}, {"kind", "k"}, {"name", "r.name"}, {"sectionName", "r.section"},
	} {
		pattern, ok := allowed[field.name].(string)
		if !ok {
			continue
		}
		condition := globs([]string{pattern}, field.value)
		switch field.name {
		case "namespace":
			conditions[0] = condition
			continue
		case "kind":
			condition = bind("k", "r.kind.endsWith('."+gatewayGroup+"')?r.kind.substring(0,size(r.kind)-"+
				number(len(gatewayGroup)+1)+"):r.kind", condition)
		case "sectionName":
			condition = "solver||r.section!=''&&" + condition
		}
		conditions = append(conditions, condition)
	}
	return allOf(conditions...)
}
