package export

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

// gateways returns the kind for Gateways and ListenerSets.
func (x *exporter) gateways() *exportedKind {
	older := rule("gateway.networking.x-k8s.io", createAndUpdate(), "xlistenersets")
	older.APIVersions = []string{"v1alpha1"}
	const path = "'spec.listeners['+string(i)+'].hostname'"
	return &exportedKind{
		name: "gateways",
		resources: []admissionv1.NamedRuleWithOperations{
			rule(gatewayGroup, createAndUpdate(), "gateways", "listenersets"), older,
		},
		conditions: []admissionv1.MatchCondition{notTheClusterItself(), validatedFieldsChange()},
		variables: []variable{
			{"class", "string(object.spec.?gatewayClassName.orValue(''))"},
			{"solver", "false"},
			{"annotations", "object.metadata.?annotations.orValue({}).map(key,string(key)).sort()"},
			// In a listener, *.example includes names at any depth. Annotations reach the Service of a Gateway.
			{"claims", cel(`object.spec.?listeners.orValue([]).transformList(i,listener,[listener.?hostname.orValue('')]
				.map(text,text==''?$every:$claim)[0])+$annotations+$infrastructure`,
				"$every", claimOfEvery(path, repeated), "$claim", claim(path, repeated, anyDepth("text"), "text", "''"),
				"$annotations", x.annotationClaims("[]", "Gateway", "Service"),
				"$infrastructure", x.claimsIn(infrastructureAnnotations(), "[]", "Service"))},
		},
		selector: selector{[]string{"namespaces", "users", "groups", "labels", "gatewayClassNames"}, "[variables.class]"},
		checks:   gatewayChecks,
	}
}

// gatewayChecks returns the checks of an entry, in the order of policy/gateways.go.
func gatewayChecks(policy.Fields) []check {
	return slices.Concat(
		hostChecks("claims", "spec.listeners"),
		[]check{
			of("classNames.allowed", notAllowed, func(list any) string {
				return oneFault("variables.class!=''&&!("+globs(texts(list), "variables.class")+")", "spec.gatewayClassName",
					"variables.class", "variables.class")
			}),
			of("ports.allowed", notAllowed, func(ranges any) string {
				return listenerFaults("port", "string(listener.?port.orValue(0))",
					"!("+inRanges("int(value)", texts(ranges))+")", "+(listener.?protocol.orValue('')=='UDP'?' UDP':'')")
			}),
			of("protocols.allowed", notAllowed, func(list any) string {
				return listenerFaults("protocol", "listener.?protocol.orValue('')",
					"!("+globs(texts(list), "value")+")", listenerName)
			}),
			of("tls.modes", notAllowed, func(list any) string {
				return listenerFaults("tls.mode", "listener.?tls.?mode.orValue(has(listener.tls)||"+
					"listener.?protocol.orValue('') in ['HTTPS','TLS']?'Terminate':'')",
					"value!=''&&!(value in "+set(texts(list))+")", listenerName)
			}),
			of("tls.crossNamespaceRefs", "is another namespace, which is denied", always(cel(
				"($references).filter(ref,!(ref.namespace in ['',request.namespace])).map(ref,$fault)",
				"$references", certificateRefs(), "$fault", fault("ref.path+'.namespace'",
					"ref.namespace+' '+ref.name+' '+ref.path.split('[')[0]", "ref.namespace")))),
			of("allowedRoutes.from", notAllowed, func(list any) string {
				return listenerFaults("allowedRoutes.namespaces.from",
					fromNamespaces("listener.?allowedRoutes.?namespaces", "Same"), "!(value in "+set(texts(list))+")", listenerName)
			}),
			of("allowedListeners.from", notAllowed, func(list any) string {
				return cel("[$from].filter(from,from!='None'&&!(from in $allowed)).map(from,$fault)",
					"$allowed", set(texts(list)), "$from", fromNamespaces("object.spec.?allowedListeners.?namespaces", "None"),
					"$fault", fault("'spec.allowedListeners.namespaces.from'", "from", "from"))
			}),
		},
		annotationChecks(infrastructureAnnotations()),
		[]check{of("addresses", notAllowed, wrongAddresses)},
	)
}

// listenerFaults returns an expression for a fault of each listener that meets a condition about the value. The
// identity of a fault is the value and the end of an expression.
func listenerFaults(field, value, condition, end string) string {
	return cel("object.spec.?listeners.orValue([]).transformList(i,listener,[$value].exists(value,$condition),$fault)",
		"$value", value, "$condition", condition,
		"$fault", fault("'spec.listeners['+string(i)+']."+field+"'", "("+value+")"+end, "("+value+")"))
}

// listenerName is the end of the identities of most faults of listeners.
const listenerName = "+' '+listener.?name.orValue('')"

// certificateRefs returns an expression for all references to certificates and CAs.
func certificateRefs() string {
	one := func(of, path string) string {
		return cel("{'path':$path,'namespace':string($of.?namespace.orValue('')),'name':string($of.?name.orValue(''))}",
			"$of", of, "$path", path)
	}
	list := func(of, path string) string {
		return of + ".orValue([]).transformList(j,ref," + one("ref", path+"+'['+string(j)+']'") + ")"
	}
	return cel(`object.spec.?listeners.orValue([]).transformList(i,listener,$listener).flatten()+$default+
		object.spec.?tls.?frontend.?perPort.orValue([]).transformList(i,port,$perPort).flatten()+
		(object.spec.?tls.?backend.?clientCertificateRef.hasValue()?[$backend]:[])`,
		"$listener", list("listener.?tls.?certificateRefs", "'spec.listeners['+string(i)+'].tls.certificateRefs'"),
		"$default", list("object.spec.?tls.?frontend.?default.?validation.?caCertificateRefs",
			"'spec.tls.frontend.default.validation.caCertificateRefs'"),
		"$perPort", list("port.?tls.?validation.?caCertificateRefs",
			"'spec.tls.frontend.perPort['+string(i)+'].tls.validation.caCertificateRefs'"),
		"$backend", one("object.spec.tls.backend.clientCertificateRef", "'spec.tls.backend.clientCertificateRef'"))
}

// fromNamespaces returns an expression for the meaning of the optional field namespaces. A selector that selects a
// namespace without labels means All.
func fromNamespaces(of, absent string) string {
	return cel(`$of.optMap(from,from.?from.orValue('')=='Selector'&&size(from.?selector.?matchLabels.orValue({}))==0&&
		!from.?selector.?matchExpressions.orValue([]).exists(term,term.operator=='NotIn'?false
			:term.operator=='DoesNotExist'?term.key=='$name':term.operator=='Exists'?term.key!='$name':true)
		?'All':from.?from.orValue('$absent')).orValue('$absent')`, "$of", of, "$absent", absent, "$name", namespaceName)
}

// wrongAddresses takes the fields of the addresses block and returns an expression for the faults of addresses, like
// policy/gateway_addresses.go. An empty block denies all addresses.
func wrongAddresses(value any) string {
	block, _ := value.(policy.Fields)
	ranges, _ := takeTexts(block, "allowed")
	hostnames, _ := takeTexts(block, "hostnames")
	const isIP = "address.type in ['','IPAddress']"
	return cel(`object.spec.?addresses.orValue([])
		.map(address,{'type':string(address.?type.orValue('')),'value':string(address.?value.orValue(''))})
		.map(address,{'type':address.type,'value':address.value,'ip':address.value!=''&&$isIP?$normal:''})
		.transformList(i,address,address.value==''||!($isIP?address.ip!=''&&$inRanges:address.type=='Hostname'&&
			[address.value.lowerAscii()].map(name,name.endsWith('.')?name.substring(0,size(name)-1):name).exists(name,
				!(name in ['','*','**'])&&!name.startsWith('*.')&&!name.startsWith('**.')&&($isAllowed))),$fault)`,
		"$isIP", isIP, "$normal", normalAddress("address.value"), "$inRanges", inCIDRs("address.ip", ranges),
		"$isAllowed", hostAllowed("name", hostnames),
		"$fault", fault("'spec.addresses['+string(i)+'].'+(address.value==''||address.type in ['','IPAddress','Hostname']"+
			"?'value':'type')", cel("address.value!=''&&$isIP?(address.ip==''?' '+address.value:address.ip)"+
			":address.value+' '+address.type", "$isIP", isIP), "address.value"))
}
