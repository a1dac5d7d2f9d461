package export

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

// gateways returns the kind for Gateways and ListenerSets.
func (x *exporter) gateways() exportedKind {
	older := rule("gateway.networking.x-k8s.io", createAndUpdate(), "xlistenersets")
	older.APIVersions = []string{"v1alpha1"}
	return exportedKind{
		name: "gateways",
		resources: []admissionv1.NamedRuleWithOperations{
			rule(gatewayGroup, createAndUpdate(), "gateways", "listenersets"), older,
		},
		conditions: []admissionv1.MatchCondition{notTheClusterItself(), validatedFieldsChange()},
		variables: func(s side) []variable {
			return []variable{
				{"class" + s.suffix(), "string(" + string(s) + ".spec.?gatewayClassName.orValue(''))"},
				{"annotations" + s.suffix(), annotationKeys(s)},
				{"hosts" + s.suffix(), listenerHosts(s)},
				{"claims" + s.suffix(), x.gatewayClaims(s)},
			}
		},
		classes: func(s side) string { return "[variables.class" + s.suffix() + "]" },
		checks:  gatewayChecks,
	}
}

// gatewayFields returns the fields that the export of an entry covers.
func gatewayFields() known {
	allowed, from := known{"allowed": nil}, known{"from": nil}
	return known{
		"hosts": fieldHostFields(), "classNames": allowed, "ports": allowed, "protocols": allowed,
		"tls": {"modes": nil, "crossNamespaceRefs": nil}, "allowedRoutes": from, "allowedListeners": from,
		"annotations": annotationFields(), "addresses": {"allowed": nil, "hostnames": nil},
	}
}

// gatewayChecks returns the checks of an entry, in the order of policy/gateways.go.
func gatewayChecks(e *policy.Entry) []check {
	return slices.Concat(
		hostChecks(blockOf(e, "hosts"), "claims", "spec.listeners"),
		gatewayClassChecks(e), listenerPortChecks(e), protocolChecks(e), gatewayTLSChecks(blockOf(e, "tls")),
		allowedRouteChecks(blockOf(e, "allowedRoutes")), allowedListenerChecks(blockOf(e, "allowedListeners")),
		annotationChecks(blockOf(e, "annotations"), infrastructureAnnotations()),
		gatewayAddressChecks(blockOf(e, "addresses")),
	)
}

// listenerHosts returns an expression for the claims of listeners, in which *.example includes names at any depth.
func listenerHosts(s side) string {
	const path = "'spec.listeners['+string(i)+'].hostname'"
	return string(s) + ".spec.?listeners.orValue([]).transformList(i,l," + bind("v", "string(l.?hostname.orValue(''))",
		choose("v==''", everyClaim(path, atRepeated), claim(path, atRepeated, anyDepth("v"), "v", "''"))) + ")"
}

// gatewayClaims returns an expression for the claims of all places: listeners, annotations (which reach the Service
// of a Gateway) and spec.infrastructure.annotations.
func (x *exporter) gatewayClaims(s side) string {
	f := infrastructureAnnotations()
	return "variables.hosts" + s.suffix() + "+" + x.annotationClaims(s, "[]", "Gateway", "Service") + "+" +
		x.claimsIn(f.keys(s), string(s)+"."+f.name, f.name, "[]", "Service")
}

func gatewayClassChecks(e *policy.Entry) []check {
	allowed, ok := allowedIn(e, "classNames")
	if !ok {
		return nil
	}
	return []check{{id: "classNames.allowed", faults: func(s side) string {
		class := "variables.class" + s.suffix()
		return when(class+"!=''&&!("+globs(allowed, class)+")", "'spec.gatewayClassName'", class,
			quote(class)+"+"+str(" is not allowed"+passing(allowed)))
	}}}
}

// listeners returns a check of a list of listeners. It has a fault for each listener, l, at its index, i, that meets
// a condition.
func listeners(id, condition, field, identity, why string) check {
	return check{id: id, faults: func(s side) string {
		return string(s) + ".spec.?listeners.orValue([]).transformList(i,l," + condition + "," +
			fault("'spec.listeners['+string(i)+']."+field+"'", identity, why) + ")"
	}}
}

// listenerName is a part of the identity of findings about the listener l.
const listenerName = "+' '+string(l.?name.orValue(''))"

func listenerPortChecks(e *policy.Entry) []check {
	allowed, ok := allowedIn(e, "ports")
	if !ok {
		return nil
	}
	const port = "string(l.?port.orValue(0))"
	return []check{listeners("ports.allowed", "!("+bind("n", "int("+port+")", inRanges(allowed))+")", "port",
		port+"+(string(l.?protocol.orValue(''))=='UDP'?' UDP':'')", port+"+"+str(" is not allowed"+passing(allowed)))}
}

func protocolChecks(e *policy.Entry) []check {
	allowed, ok := allowedIn(e, "protocols")
	if !ok {
		return nil
	}
	const protocol = "string(l.?protocol.orValue(''))"
	return []check{listeners("protocols.allowed", "!("+bind("v", protocol, globs(allowed, "v"))+")", "protocol",
		protocol+listenerName, quote(protocol)+"+"+str(" is not allowed"+passing(allowed)))}
}

func gatewayTLSChecks(block policy.Fields) []check {
	var all []check
	if modes, ok := block["modes"].([]any); ok {
		mode := "(" + bind("v", "string(l.?tls.?mode.orValue(''))",
			"v!=''?v:has(l.tls)||string(l.?protocol.orValue('')) in ['HTTPS','TLS']?'Terminate':''") + ")"
		all = append(all, listeners("tls.modes", bind("v", mode, "v!=''&&!(v in "+set(texts(modes))+")"), "tls.mode",
			mode+listenerName, quote(mode)+"+"+str(" is not allowed"+passing(texts(modes)))))
	}
	if block["crossNamespaceRefs"] != nil {
		all = append(all, check{id: "tls.crossNamespaceRefs", faults: func(s side) string {
			return certificateRefs(s) + ".filter(c,c.ns!=''&&c.ns!=request.namespace).map(c," + fault("c.path+'.namespace'",
				"c.ns+' '+c.name+' '+c.path.split('[')[0]",
				quote("c.ns")+"+' is another namespace, which is denied; refer to one of the same namespace'") +
				")"
		}})
	}
	return all
}

// certificateRefs returns an expression for all references to certificates and CAs.
func certificateRefs(s side) string {
	one := func(of, path string) string {
		return "{'path':" + path + ",'ns':string(" + of + ".?namespace.orValue('')),'name':string(" + of +
			".?name.orValue(''))}"
	}
	list := func(of, path string) string {
		return of + ".orValue([]).transformList(j,c," + one("c", path+"+'['+string(j)+']'") + ")"
	}
	tls := string(s) + ".spec.?tls"
	const authorities = ".?validation.?caCertificateRefs"
	perPort := tls + ".?frontend.?perPort.orValue([]).transformList(i,p," + list("p.?tls"+authorities,
		"'spec.tls.frontend.perPort['+string(i)+'].tls.validation.caCertificateRefs'") + ").flatten()"
	backend := tls + ".?backend.?clientCertificateRef.hasValue()?[" +
		one(string(s)+".spec.tls.backend.clientCertificateRef", "'spec.tls.backend.clientCertificateRef'") + "]:[]"
	return "(" + sum(
		string(s)+".spec.?listeners.orValue([]).transformList(i,l,"+list("l.?tls.?certificateRefs",
			"'spec.listeners['+string(i)+'].tls.certificateRefs'")+").flatten()",
		list(tls+".?frontend.?default"+authorities, "'spec.tls.frontend.default.validation.caCertificateRefs'"),
		perPort, "("+backend+")",
	) + ")"
}

// fromNamespaces returns an expression for the meaning of the optional field namespaces. The value is a list of the
// effective setting and the beginning of the sentence about it. A selector that selects a namespace without labels
// means All.
func fromNamespaces(of, absent string) string {
	const all = "n.?selector.?matchLabels.orValue({}).size()==0&&!n.?selector.?matchExpressions.orValue([])" +
		".exists(q,q.operator=='NotIn'?false:q.operator=='DoesNotExist'?q.key=='" + metav1LabelName + "':" +
		"q.operator=='Exists'?q.key!='" + metav1LabelName + "':true)"
	from := bind("n", of+".value()", bind("v", "string(n.?from.orValue(''))", choose("v==''", unset(absent),
		choose("v=='Selector'&&"+all,
			"['All','\"Selector\" with a selector that matches namespaces without labels means \"All\", which is not allowed']",
			"[v,"+quote("v")+"+' is not allowed']"))))
	return choose(of+".hasValue()", from, unset(absent))
}

// unset returns the value for an absent field.
func unset(absent string) string {
	return "['" + absent + "','is not set, which means \"" + absent + "\", and that is not allowed']"
}

func allowedRouteChecks(block policy.Fields) []check {
	from, ok := block["from"].([]any)
	if !ok {
		return nil
	}
	said := fromNamespaces("l.?allowedRoutes.?namespaces", "Same")
	return []check{listeners("allowedRoutes.from", "!("+said+"[0] in "+set(texts(from))+")",
		"allowedRoutes.namespaces.from",
		said+"[0]"+listenerName, said+"[1]+"+str(passing(texts(from))))}
}

func allowedListenerChecks(block policy.Fields) []check {
	from, ok := block["from"].([]any)
	if !ok {
		return nil
	}
	return []check{{id: "allowedListeners.from", faults: func(s side) string {
		said := fromNamespaces(string(s)+".spec.?allowedListeners.?namespaces", "None")
		return bind("f", said, when("f[0]!='None'&&!(f[0] in "+set(texts(from))+")",
			"'spec.allowedListeners.namespaces.from'",
			"f[0]", "f[1]+"+str(passing(texts(from)))))
	}}}
}

// gatewayAddressChecks returns the check of the addresses block, like policy/gateway_addresses.go.
func gatewayAddressChecks(block policy.Fields) []check {
	if block == nil {
		return nil
	}
	ranges, hostnames := texts(block["allowed"]), texts(block["hostnames"])
	isIP := "(a.type in ['','IPAddress'])"
	host := bind("h", "[a.value.lowerAscii()].map(n,{'p':n.endsWith('.')?n.substring(0,size(n)-1):n})[0]",
		"h.p!=''&&!h.p.startsWith('*.')&&!h.p.startsWith('**.')&&h.p!='*'&&h.p!='**'&&("+hostAllowed(hostnames)+")")
	passes := "a.value!=''&&" + choose(isIP, "a.ip!=''&&("+inCIDRs("a.ip+(a.ip.contains(':')?'/128':'/32')", ranges)+")",
		"a.type=='Hostname'&&"+host)
	ident := choose("a.value!=''&&"+isIP, "a.ip==''?' '+a.value:a.ip", "a.value+' '+a.type")
	why := choose("a.value==''", "'is not set, so the implementation chooses, which is not allowed'", choose(isIP,
		quote("a.value")+"+(a.ip==''?' is not an address':' is not allowed')", choose("a.type=='Hostname'",
			quote("a.value")+"+' is not allowed'", quote("a.type")+"+' is neither IPAddress nor Hostname, and not allowed'")))
	path := "a.path+" + choose("a.value!=''&&!(a.type in ['','IPAddress','Hostname'])", "'.type'", "'.value'")
	end := str(passing(slices.Concat(ranges, hostnames)))
	return []check{{id: "addresses", faults: func(s side) string {
		return string(s) + ".spec.?addresses.orValue([]).transformList(i,d,{'path':'spec.addresses['+string(i)+']'," +
			"'type':string(d.?type.orValue('')),'value':string(d.?value.orValue(''))}).map(a,{'path':a.path,'type':a.type," +
			"'value':a.value,'ip':a.value!=''&&" + isIP + "?" + normalAddress("a.value") + ":''})" +
			".filter(a,!(" + passes + ")).map(a," + fault(path, ident, why+"+(a.value!=''&&"+isIP+"&&a.ip==''?'':"+end+")") + ")"
	}}}
}
