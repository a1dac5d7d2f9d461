package export

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

// services returns the kind for Services.
func (x *exporter) services() *exportedKind {
	return &exportedKind{
		name:       "services",
		resources:  []admissionv1.NamedRuleWithOperations{rule("", createAndUpdate(), "services", "services/status")},
		conditions: []admissionv1.MatchCondition{notTheClusterItself(), validatedFieldsChange()},
		variables: append(x.solver(serviceSolver), []variable{
			{"type", "string(object.spec.?type.orValue('ClusterIP'))"},
			{"class", "string(object.spec.?loadBalancerClass.orValue(''))"},
			{"annotations", validatedAnnotations()},
			{"claims", x.annotationClaims("[]", "Service")},
		}...),
		selector: selector{[]string{"namespaces", "users", "groups", "labels", "loadBalancerClasses"}, "[variables.class]"},
		checks:   serviceChecks,
	}
}

// isLoadBalancer is a condition that a Service has a load balancer.
const isLoadBalancer = "variables.type=='LoadBalancer'"

// serviceChecks returns the checks of an entry, in the order of policy/services.go.
func serviceChecks(policy.Fields) []check {
	return slices.Concat(
		hostChecks("claims", "metadata.annotations"),
		unlessSolver(
			of("types.allowed", notAllowed, func(list any) string {
				return typeFault("!(variables.type in " + set(texts(list)) + ")")
			}),
			of("types.denied", "is denied", func(list any) string {
				return typeFault("variables.type in " + set(texts(list)))
			}),
			of("ports.allowed", notAllowed, func(ranges any) string {
				return portFaults("port", "!("+inRanges("port.port", texts(ranges))+")")
			}),
			of("nodePorts.allowed", "is not an allowed node port", wrongNodePorts),
		),
		[]check{
			of("allocateLoadBalancerNodePorts", "allocates node ports: set it to false", always(oneFault(
				isLoadBalancer+"&&object.spec.?allocateLoadBalancerNodePorts.orValue(true)", "spec.allocateLoadBalancerNodePorts",
				"''"))),
			of("loadBalancerClass.required", "is required for a LoadBalancer", always(oneFault(
				isLoadBalancer+"&&variables.class==''", "spec.loadBalancerClass", "''"))),
			of("loadBalancerClass.allowed", notAllowed, func(list any) string {
				return oneFault("variables.class!=''&&!(variables.class in "+set(texts(list))+")", "spec.loadBalancerClass",
					"variables.class", "variables.class")
			}),
			of("loadBalancerSourceRanges.required", "is required for a LoadBalancer", always(oneFault(
				cel("$isLoadBalancer&&size(object.spec.?loadBalancerSourceRanges.orValue([]))==0&&$annotation.trim()==''",
					"$isLoadBalancer", isLoadBalancer, "$annotation", annotationValue(sourceRangesAnnotation)),
				"spec.loadBalancerSourceRanges", "''"))),
			of("externalIPs.allowed", notAllowed, wrongExternalIPs),
		},
		annotationChecks(),
		[]check{of("annotations.requiredForLoadBalancer", requiredHint, func(required any) string {
			return choose(isLoadBalancer, requiredAnnotations(required), "[]")
		})},
	)
}

func typeFault(condition string) string {
	return oneFault(condition, "spec.type", "variables.type", "variables.type")
}

// notAllowed is the hint of checks of a list of allowed values.
const notAllowed = "is not allowed"

// inRanges returns a condition that the number of an expression is in one of some ranges.
func inRanges(number string, ranges []string) string {
	conditions := make([]string, len(ranges))
	for i, r := range ranges {
		low, high, isRange := strings.Cut(r, "-")
		if !isRange {
			high = low
		}
		conditions[i] = low + "<=number&&number<=" + high
	}
	return bind("number", number, anyOf(conditions...))
}

// portFaults returns an expression for a fault of each port whose field meets a condition.
func portFaults(field, condition string) string {
	return cel("object.spec.?ports.orValue([]).transformList(i,port,$condition,$fault)", "$condition", condition,
		"$fault", fault("'spec.ports['+string(i)+']."+field+"'",
			"string(port."+field+")+' '+port.?protocol.orValue('TCP')", "string(port."+field+")"))
}

func wrongNodePorts(ranges any) string {
	const health = "object.spec.?healthCheckNodePort.orValue(0)"
	allowed := texts(ranges)
	return portFaults("nodePort", "port.?nodePort.orValue(0)!=0&&!("+inRanges("port.nodePort", allowed)+")") + "+(" +
		oneFault(health+"!=0&&!("+inRanges(health, allowed)+")", "spec.healthCheckNodePort",
			"string("+health+")+' health checks'", "string("+health+")") + ")"
}

func wrongExternalIPs(ranges any) string {
	return cel(`object.spec.?externalIPs.orValue([])
		.map(text,{'text':string(text),'address':$normal}).transformList(i,external,
			external.address==''||!($allowed),$fault)`,
		"$normal", normalAddress("text"), "$allowed", inCIDRs("external.address", texts(ranges)),
		"$fault", fault("'spec.externalIPs['+string(i)+']'", "external.address==''?' '+external.text:external.address",
			"external.text"))
}

// sourceRangesAnnotation is the older form of spec.loadBalancerSourceRanges.
const sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges"
