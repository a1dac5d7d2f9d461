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
func serviceChecks(fields policy.Fields) []check {
	annotations := blockOf(fields, "annotations")
	all := slices.Concat(
		hostChecks(blockOf(fields, "hosts"), "claims", "metadata.annotations"),
		unlessSolver(typeChecks(blockOf(fields, "types"))),
		unlessSolver(portChecks(blockOf(fields, "ports"))),
		nodePortChecks(fields),
		loadBalancerClassChecks(blockOf(fields, "loadBalancerClass")),
		sourceRangeChecks(blockOf(fields, "loadBalancerSourceRanges")),
		externalIPChecks(blockOf(fields, "externalIPs")),
		annotationChecks(annotations),
	)
	if required, ok := take(annotations, "requiredForLoadBalancer").([]any); ok {
		all = append(all, check{id: "annotations.requiredForLoadBalancer", hint: requiredHint,
			faults: choose(isLoadBalancer, requiredAnnotations(required), "[]")})
	}
	return all
}

func typeChecks(block policy.Fields) (all []check) {
	add := func(id, hint, condition string) {
		all = append(all, check{id: id, hint: hint,
			faults: oneFault(condition, "spec.type", "variables.type", "variables.type")})
	}
	if allowed, ok := takeTexts(block, "allowed"); ok {
		add("types.allowed", notAllowed, "!(variables.type in "+set(allowed)+")")
	}
	if denied, ok := takeTexts(block, "denied"); ok {
		add("types.denied", "is denied", "variables.type in "+set(denied))
	}
	return all
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

func portChecks(block policy.Fields) []check {
	allowed, ok := takeTexts(block, "allowed")
	if !ok {
		return nil
	}
	faults := portFaults("port", "!("+inRanges("port.port", allowed)+")")
	return []check{{id: "ports.allowed", hint: notAllowed, faults: faults}}
}

// portFaults returns an expression for a fault of each port whose field meets a condition.
func portFaults(field, condition string) string {
	return cel("object.spec.?ports.orValue([]).transformList(i,port,$condition,$fault)", "$condition", condition,
		"$fault", fault("'spec.ports['+string(i)+']."+field+"'",
			"string(port."+field+")+' '+port.?protocol.orValue('TCP')", "string(port."+field+")"))
}

func nodePortChecks(fields policy.Fields) (all []check) {
	if allowed, ok := takeTexts(blockOf(fields, "nodePorts"), "allowed"); ok {
		const health = "object.spec.?healthCheckNodePort.orValue(0)"
		all = unlessSolver([]check{{id: "nodePorts.allowed", hint: "is not an allowed node port",
			faults: portFaults("nodePort", "port.?nodePort.orValue(0)!=0&&!("+inRanges("port.nodePort", allowed)+")") + "+(" +
				oneFault(health+"!=0&&!("+inRanges(health, allowed)+")", "spec.healthCheckNodePort",
					"string("+health+")+' health checks'", "string("+health+")") + ")"}})
	}
	if take(fields, "allocateLoadBalancerNodePorts") != nil {
		all = append(all, check{id: "allocateLoadBalancerNodePorts", hint: "allocates node ports: set it to false",
			faults: oneFault(isLoadBalancer+"&&object.spec.?allocateLoadBalancerNodePorts.orValue(true)",
				"spec.allocateLoadBalancerNodePorts", "''")})
	}
	return all
}

func loadBalancerClassChecks(block policy.Fields) (all []check) {
	if take(block, "required") != nil {
		all = append(all, check{id: "loadBalancerClass.required", hint: "is required for a LoadBalancer",
			faults: oneFault(isLoadBalancer+"&&variables.class==''", "spec.loadBalancerClass", "''")})
	}
	if allowed, ok := takeTexts(block, "allowed"); ok {
		all = append(all, check{id: "loadBalancerClass.allowed", hint: notAllowed,
			faults: oneFault("variables.class!=''&&!(variables.class in "+set(allowed)+")", "spec.loadBalancerClass",
				"variables.class", "variables.class")})
	}
	return all
}

func externalIPChecks(block policy.Fields) []check {
	allowed, ok := takeTexts(block, "allowed")
	if !ok {
		return nil
	}
	return []check{{id: "externalIPs.allowed", hint: notAllowed, faults: cel(`object.spec.?externalIPs.orValue([])
		.map(text,{'text':string(text),'address':$normal}).transformList(i,external,
			external.address==''||!($allowed),$fault)`,
		"$normal", normalAddress("text"), "$allowed", inCIDRs(asRange("external.address"), allowed),
		"$fault", fault("'spec.externalIPs['+string(i)+']'", "external.address==''?' '+external.text:external.address",
			"external.text"))}}
}

// sourceRangesAnnotation is the older form of spec.loadBalancerSourceRanges. Azure reads the other annotation.
const (
	sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges"
	azureRangesAnnotation  = "service.beta.kubernetes.io/azure-allowed-ip-ranges"
)

func sourceRangeChecks(block policy.Fields) (all []check) {
	if take(block, "required") != nil {
		all = append(all, check{id: "loadBalancerSourceRanges.required", hint: "is required for a LoadBalancer",
			faults: oneFault(cel("$isLoadBalancer&&size(object.spec.?loadBalancerSourceRanges.orValue([]))==0&&"+
				"$annotation.trim()==''", "$isLoadBalancer", isLoadBalancer, "$annotation",
				annotationValue(sourceRangesAnnotation)),
				"spec.loadBalancerSourceRanges", "''")})
	}
	if allowed, ok := takeTexts(block, "allowed"); ok {
		all = append(all, check{
			id: "loadBalancerSourceRanges.allowed", hint: notAllowed, faults: wrongRanges(allowed) + "+" + unknownClients(),
			// A range in a range that existed before is not a new finding, and neither is a range that no longer has an effect.
			known: `$old.exists(old,(old.startsWith('effective ')||fault.id.startsWith('idle '))&&
				[[old,fault.id].map(id,id.substring(id.indexOf(' ')+1))].map(ids,ids[0]==ids[1]||
					isCIDR(ids[0])&&isCIDR(ids[1])&&cidr(ids[0]).containsCIDR(ids[1]))[0])`,
		})
	}
	return all
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
