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
func (x *exporter) routes() *exportedKind {
	var all []string
	for _, k := range routeKinds() {
		all = append(all, k[1])
	}
	return &exportedKind{
		name:       "routes",
		resources:  []admissionv1.NamedRuleWithOperations{rule(gatewayGroup, createAndUpdate(), all...)},
		conditions: []admissionv1.MatchCondition{notTheClusterItself(), validatedFieldsChange()},
		variables: append(x.solver(routeSolver()), []variable{
			{"annotations", validatedAnnotations()},
			{"parents", cel(`object.spec.?parentRefs.orValue([]).transformList(i,ref,{'path':'spec.parentRefs['+string(i)+']',
				$reference,'section':string(ref.?sectionName.orValue('')),'port':string(ref.?port.orValue(0))})`,
				"$reference", reference("ref", gatewayGroup, "Gateway"))},
			{"byDefault", "!(object.spec.?useDefaultGateways.orValue('') in ['','None'])"},
			{"inMesh", "size(variables.parents)>0&&!variables.byDefault&&variables.parents.all(parent,parent.kind=='Service')"},
			{"hosts", routeHosts()},
			{"annotated", x.routeAnnotations()},
			{"meshClaims", "variables.inMesh?variables.annotated+variables.hosts:variables.hosts+variables.annotated"},
			{"claims", "variables.inMesh?variables.annotated:variables.meshClaims"},
			{"paths", routePaths()},
			{"backends", routeBackends()},
		}...),
		selector: selector{dimensions: []string{"namespaces", "users", "groups", "labels"}},
		checks:   routeChecks,
	}
}

// routeChecks returns the checks of an entry, in the order of policy/routes.go.
func routeChecks(fields policy.Fields) []check {
	take(fields, "subdomainDomains") // applies only to OpenShift Routes
	claims := "claims"
	if take(blockOf(fields, "hosts"), "meshHosts") != nil {
		claims = "meshClaims"
	}
	return slices.Concat(
		hostChecks(claims, "spec.hostnames"),
		unlessSolver(pathChecks("false")...),
		parentChecks(),
		backendChecks(),
		annotationChecks(),
	)
}

// reference returns the fields of a reference to an object, as parts of a map: its kind with its group after a dot,
// its namespace and its name. of is an expression for the reference, and group and kind are the defaults.
func reference(of, group, kind string) string {
	return cel(`'kind':string($of.?kind.orValue('$kind'))+[$of.?group.orValue('$group')].map(group,group==''?'':
		'.'+group)[0],'namespace':[string($of.?namespace.orValue(''))].map(name,name==''?request.namespace:name)[0],
		'name':string($of.?name.orValue(''))`,
		"$of", of, "$kind", kind, "$group", group)
}

// referenceID returns an expression for the identity of the reference in a variable.
func referenceID(v string) string {
	return "[" + v + ".kind," + v + ".namespace," + v + ".name].join('\\n')"
}

// routeHosts returns an expression for the claims of spec.hostnames, in which *.example includes names at any depth.
func routeHosts() string {
	return cel(`(!(request.resource.resource in ['httproutes','grpcroutes','tlsroutes'])?[]
		:size(object.spec.?hostnames.orValue([]))==0?[$every]:object.spec.hostnames.transformList(i,text,$claim))`,
		"$every", claimOfEvery("'spec.hostnames'", mainField),
		"$claim", claim("'spec.hostnames['+string(i)+']'", mainField, anyDepth("text"), "text", "''"))
}

// routeAnnotations returns an expression for the claims in the annotations of a route, by the table of its kind.
func (x *exporter) routeAnnotations() string {
	claims := "[]"
	for _, k := range slices.Backward(routeKinds()) {
		claims = choose("request.resource.resource=='"+k[1]+"'", x.annotationClaims("[]", k[0]), claims)
	}
	return claims
}

// parentChecks returns the checks of the parents block, in the order of policy/route_parents.go.
func parentChecks() []check {
	faults := func(condition, field string) string {
		return cel("variables.parents.filter(parent,$condition).map(parent,$fault)+($byDefault)", "$condition", condition,
			"$fault", fault("parent.path"+field, referenceID("parent")+"+'\\n'+parent.section+'\\n'+parent.port",
				"parent.namespace+'/'+parent.name"),
			"$byDefault", oneFault("variables.byDefault", "spec.useDefaultGateways", "'spec.useDefaultGateways'"))
	}
	return []check{
		of("parents.allowed", notAllowed, func(allowed any) string {
			var conditions []string
			for _, fields := range blocks(allowed) {
				conditions = append(conditions, parentPasses(fields))
			}
			return faults("!("+anyOf(conditions...)+")", "")
		}),
		of("parents.crossNamespace", "is in another namespace", always(
			faults("parent.namespace!=request.namespace", "+'.namespace'"))),
	}
}

// parentPasses returns a condition that an element of parents.allowed covers a parent.
func parentPasses(allowed policy.Fields) string {
	pattern := func(field, value string) string {
		text, ok := allowed[field].(string)
		if !ok {
			return ""
		}
		return globs([]string{text}, value)
	}
	namespace := pattern("namespace", "parent.namespace")
	if namespace == "" {
		namespace = "parent.namespace==request.namespace"
	}
	section := pattern("sectionName", "parent.section")
	if section != "" {
		section = "variables.solver||parent.section!=''&&" + section
	}
	kind := cel("(parent.kind.endsWith($suffix)?parent.kind.substring(0,size(parent.kind)-size($suffix)):parent.kind)",
		"$suffix", "'."+gatewayGroup+"'")
	return allOf(namespace, pattern("kind", kind), pattern("name", "parent.name"), section)
}
