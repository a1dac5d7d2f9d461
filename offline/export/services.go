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
			sourceRanges(),
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
		"$normal", normalAddress("text"), "$allowed", inCIDRs(asRange("external.address"), texts(ranges)),
		"$fault", fault("'spec.externalIPs['+string(i)+']'", "external.address==''?' '+external.text:external.address",
			"external.text"))
}

// sourceRangesAnnotation is the older form of spec.loadBalancerSourceRanges. Azure reads the other annotation.
const (
	sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges"
	azureRangesAnnotation  = "service.beta.kubernetes.io/azure-allowed-ip-ranges"
)

func sourceRanges() check {
	c := of("loadBalancerSourceRanges.allowed", notAllowed, func(ranges any) string {
		return wrongRanges(texts(ranges)) + "+" + unknownClients()
	})
	// A range in a range that existed before is not a new finding, and neither is a range that no longer has an effect.
	c.known = `$old.exists(old,(old.startsWith('effective ')||fault.id.startsWith('idle '))&&
		[[old,fault.id].map(id,id.substring(id.indexOf(' ')+1))].map(ids,ids[0]==ids[1]||
			isCIDR(ids[0])&&isCIDR(ids[1])&&cidr(ids[0]).containsCIDR(ids[1]))[0])`
	return c
}

// effective is an expression for the beginning of an identity: ranges do not have an effect without a load balancer.
const effective = "(" + isLoadBalancer + "?'effective ':'idle ')"

// wrongRanges returns an expression for the faults of the ranges in the field and in annotations. If the field has
// ranges, the ranges in its older form do not have an effect until the field is removed.
func wrongRanges(allowed []string) string {
	annotation := func(key, effect string) string {
		return cel(`[$value.trim()].map(list,list==''?[]:size(list.split(','))>5000?
			[{'path':$path,'text':list,'effect':$effect}]
			:list.split(',').map(range,{'path':$path,'text':range.trim(),'effect':$effect}))[0]`,
			"$value", annotationValue(key), "$path", str(annotationPath(key)), "$effect", effect)
	}
	return cel(`(object.spec.?loadBalancerSourceRanges.orValue([])
		.transformList(i,range,{'path':'spec.loadBalancerSourceRanges['+string(i)+']','text':range.trim(),
			'effect':$effective})+
		$older+$azure).map(range,{'path':range.path,'text':range.text,'effect':range.effect,'cidr':$normal})
		.filter(range,range.cidr==''||!($allowed)).map(range,$fault)`,
		"$effective", effective, "$normal", normalRange("range.text"), "$allowed", inCIDRs("range.cidr", allowed),
		"$older", annotation(sourceRangesAnnotation,
			"(size(object.spec.?loadBalancerSourceRanges.orValue([]))>0?'idle ':"+effective+")"),
		"$azure", annotation(azureRangesAnnotation, effective),
		"$fault", fault("range.path", "range.effect+(range.cidr==''?range.text:range.cidr)", "range.text"))
}

// unknownClients returns an expression for the faults of annotations that let in clients with unknown addresses.
func unknownClients() string {
	var clients []string
	for _, a := range policy.ClientAnnotations() {
		clients = append(clients, "{'key':"+str(a.Key)+",'only':"+str(a.Value)+"}")
	}
	return cel(`[$clients].filter(client,[object.metadata.?annotations[?client.key].orValue('')].map(value,
		value.trim()!=''&&client.only in ['',value.trim().lowerAscii()])[0]).map(client,$fault)`,
		"$clients", strings.Join(clients, ","), "$fault", fault("'metadata.annotations['+strings.quote(client.key)+']'",
			effective+"+client.key+'='+object.metadata.annotations[client.key]"))
}
