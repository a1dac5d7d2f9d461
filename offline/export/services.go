package export

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// sourceRangesAnnotation is the older form of spec.loadBalancerSourceRanges.
const sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges"

// services returns the kind for Services.
func (x *exporter) services() exportedKind {
	return exportedKind{
		name:       "services",
		resources:  []admissionv1.NamedRuleWithOperations{rule("", createAndUpdate(), "services", "services/status")},
		conditions: []admissionv1.MatchCondition{notTheClusterItself(), validatedFieldsChange()},
		variables: func(s side) []variable {
			return []variable{
				x.solver(s, serviceSolver),
				{"type" + s.suffix(), bind("t", "string("+string(s)+".spec.?type.orValue(''))", "t==''?'ClusterIP':t")},
				{"class" + s.suffix(), "string(" + string(s) + ".spec.?loadBalancerClass.orValue(''))"},
				{"annotations" + s.suffix(), validatedAnnotationKeys(s)},
				{"claims" + s.suffix(), x.annotationClaims(s, "[]", "Service")},
			}
		},
		classes: func(s side) string { return "[variables.class" + s.suffix() + "]" },
		checks:  serviceChecks,
	}
}

// serviceFields returns the fields that can be exported.
func serviceFields() known {
	allowed := known{"allowed": nil}
	annotations := annotationFields()
	annotations["requiredForLoadBalancer"] = annotations["required"]
	return known{
		"hosts": hostFields(), "types": {"allowed": nil, "denied": nil}, "ports": allowed, "nodePorts": allowed,
		"allocateLoadBalancerNodePorts": nil,
		"loadBalancerClass":             {"required": nil, "allowed": nil}, "loadBalancerSourceRanges": {"required": nil,
			"allowed": nil},
		"externalIPs": allowed, "annotations": annotations,
	}
}

// serviceChecks returns the checks of an entry, in the order of policy/services.go.
func serviceChecks(e *policy.Entry) []check {
	annotations := blockOf(e, "annotations")
	all := slices.Concat(
		hostChecks(blockOf(e, "hosts"), "claims", "metadata.annotations"), unlessSolvers(typeChecks(e)),
		unlessSolvers(portChecks(e)), unlessSolvers(nodePortChecks(e), "nodePorts.allowed"), classChecks(e),
		sourceRangeChecks(e), externalIPChecks(e), unlessSolvers(annotationChecks(annotations), requiredAnnotation),
	)
	if required, ok := annotations["requiredForLoadBalancer"].([]any); ok {
		all = append(all, check{id: "annotations.requiredForLoadBalancer", faults: func(s side) string {
			return choose(isLoadBalancer(s), requiredAnnotations(required, s, nil), "[]")
		}})
	}
	return all
}

// fault returns a fault as a map.
func fault(path, id, why string) string {
	return "{'path':" + path + ",'id':" + id + ",'why':" + why + "}"
}

// when returns a list with one fault if a condition is true, or an empty list.
func when(condition, path, id, why string) string {
	return choose(condition, "["+fault(path, id, why)+"]", "[]")
}

// passing returns the end of a sentence with the allowed values.
func passing(allowed []string) string {
	if len(allowed) == 0 {
		return "; the policy allows none"
	}
	return "; allowed: " + text.List(allowed)
}

// quote returns the value of an expression in the form of sentences: in quotes, and truncated to 60 bytes at a
// character boundary.
func quote(value string) string {
	const short = "60" // text.Short
	fits := "lists.range(" + short + "+1).filter(k,k<=size(w)&&size(bytes(w.substring(0,k)))<=" + short + ").max()"
	cut := bind("w", "size(z)<="+short+"?z:z.substring(0,"+short+")", choose("size(bytes(w))<="+short, "w",
		"w.substring(0,"+fits+")"))
	return bind("z", value, choose("size(z)<="+short+"&&size(bytes(z))<="+short, "strings.quote(z)",
		"strings.quote("+cut+")+'…'"))
}

func isLoadBalancer(s side) string { return "variables.type" + s.suffix() + "=='LoadBalancer'" }

func typeChecks(e *policy.Entry) []check {
	types := blockOf(e, "types")
	one := func(id, condition string, list []string, end string) check {
		return check{id: id, faults: func(s side) string {
			t := "variables.type" + s.suffix()
			return when(condition+"("+t+" in "+set(list)+")", "'spec.type'", t, quote(t)+"+"+str(end))
		}}
	}
	if allowed, ok := types["allowed"]; ok {
		return []check{one("types.allowed", "!", texts(allowed), " is not allowed"+passing(texts(allowed)))}
	}
	if denied, ok := types["denied"]; ok {
		return []check{one("types.denied", "", texts(denied), " is denied; write another type")}
	}
	return nil
}

// inRanges returns a condition that the port n is in one of some ranges.
func inRanges(ranges []string) string {
	var conditions []string
	for _, r := range ranges {
		if low, high, isRange := strings.Cut(r, "-"); isRange {
			conditions = append(conditions, low+"<=n&&n<="+high)
		} else {
			conditions = append(conditions, "n=="+r)
		}
	}
	return anyOf(conditions...)
}

// allowedIn returns the allowed list of a block, and whether the block has one.
func allowedIn(e *policy.Entry, block string) ([]string, bool) {
	allowed, ok := blockOf(e, block)["allowed"]
	return texts(allowed), ok
}

// requires reports whether a block has required: true.
func requires(e *policy.Entry, block string) bool { return blockOf(e, block)["required"] != nil }

// portsOf returns an expression for the ports of an object, each with its path and its protocol.
func portsOf(s side, field string) string {
	return string(s) + ".spec.?ports.orValue([]).transformList(i,p,{'path':'spec.ports['+string(i)+']." + field +
		"','port':string(p.?" + field + ".orValue(0)),'protocol':string(p.?protocol.orValue('TCP'))})"
}

func portChecks(e *policy.Entry) []check {
	allowed, ok := allowedIn(e, "ports")
	if !ok {
		return nil
	}
	return []check{{id: "ports.allowed", faults: func(s side) string {
		return portsOf(s, "port") + ".filter(p,!(" + bind("n", "int(p.port)", inRanges(allowed)) + ")).map(p," +
			fault("p.path", "p.port+' '+p.protocol", "p.port+"+str(" is not allowed"+passing(allowed))) + ")"
	}}}
}

// nodePortChecks returns the checks nodePorts and allocateLoadBalancerNodePorts.
func nodePortChecks(e *policy.Entry) []check {
	var all []check
	if allowed, ok := allowedIn(e, "nodePorts"); ok {
		all = append(all, check{id: "nodePorts.allowed", faults: func(s side) string {
			wrong := "p.port!='0'&&!(" + bind("n", "int(p.port)", inRanges(allowed)) + ")"
			says := "'node port '+p.port+" + str(" is not allowed; if you did not write it, the API server allocated it: ")
			if len(allowed) > 0 {
				says = "'node port '+p.port+" + str(" is not allowed; allowed: "+text.List(allowed)+"; if you did not write it, "+
					"the API server allocated it: write one that is allowed, or ")
			}
			typed := "(" + isLoadBalancer(s) + "?'set spec.allocateLoadBalancerNodePorts to false and remove every nodePort'" +
				":'set spec.type to ClusterIP')"
			health := "[{'path':'spec.healthCheckNodePort','port':string(" + string(s) +
				".spec.?healthCheckNodePort.orValue(0))}]"
			return portsOf(s, "nodePort") + ".filter(p," + wrong + ").map(p," +
				fault("p.path", "p.port+' '+p.protocol", says+"+"+typed) + ")+" +
				health + ".filter(p," + wrong + ").map(p," +
				fault("p.path", "p.port+' health checks'", says+"+'set spec.externalTrafficPolicy to Cluster'") + ")"
		}})
	}
	if e.Fields["allocateLoadBalancerNodePorts"] != nil {
		all = append(all, check{id: "allocateLoadBalancerNodePorts", faults: func(s side) string {
			return when(isLoadBalancer(s)+"&&"+string(s)+".spec.?allocateLoadBalancerNodePorts.orValue(true)",
				"'spec.allocateLoadBalancerNodePorts'", "''",
				"'node ports are allocated to this LoadBalancer, which is denied; set it to false'")
		}})
	}
	return all
}

func classChecks(e *policy.Entry) []check {
	var all []check
	allowed, limited := allowedIn(e, "loadBalancerClass")
	if requires(e, "loadBalancerClass") {
		says := "is required for a LoadBalancer; set it"
		if len(allowed) > 0 {
			says = "is required for a LoadBalancer; allowed: " + text.List(allowed)
		}
		all = append(all, check{id: "loadBalancerClass.required", faults: func(s side) string {
			return when(isLoadBalancer(s)+"&&variables.class"+s.suffix()+"==''", "'spec.loadBalancerClass'", "''", str(says))
		}})
	}
	if limited {
		all = append(all, check{id: "loadBalancerClass.allowed", faults: func(s side) string {
			class := "variables.class" + s.suffix()
			return when(class+"!=''&&!("+class+" in "+set(allowed)+")", "'spec.loadBalancerClass'", class,
				quote(class)+"+"+str(" is not allowed"+passing(allowed)))
		}})
	}
	return all
}

func sourceRangeChecks(e *policy.Entry) []check {
	var all []check
	allowed, limited := allowedIn(e, "loadBalancerSourceRanges")
	annotationOf := func(s side, key string) string {
		return "string(" + string(s) + ".metadata.?annotations[?'" + key + "'].orValue('')).trim()"
	}
	annotation := func(s side) string { return annotationOf(s, sourceRangesAnnotation) }
	field := func(s side) string { return string(s) + ".spec.?loadBalancerSourceRanges.orValue([])" }
	if requires(e, "loadBalancerSourceRanges") {
		all = append(all, check{id: "loadBalancerSourceRanges.required", faults: func(s side) string {
			return when(isLoadBalancer(s)+"&&size("+field(s)+")==0&&"+annotation(s)+"==''",
				"'spec.loadBalancerSourceRanges'", "''",
				"'is required for a LoadBalancer; list the address ranges that may call it'")
		}})
	}
	if limited {
		all = append(all, check{
			id: "loadBalancerSourceRanges.allowed",
			faults: func(s side) string {
				// If the field has ranges, the ranges in the annotation have no effect until the field is removed. Without a
				// load balancer, no range has an effect.
				visible := "(" + isLoadBalancer(s) + "?'v':'h')"
				hidden := "(size(" + field(s) + ")>0?'h':" + visible + ")"
				inField := field(s) + ".transformList(i,a,{'path':'spec.loadBalancerSourceRanges['+string(i)+']'," +
					"'as':" + visible + ",'a':string(a).trim()})"
				in := func(key, as string) string {
					at := str(annotationPath(key)) + ",'as':" + as
					return bind("l", annotationOf(s, key), "l==''?[]:size(l.split(','))>5000?"+
						"[{'path':"+at+",'a':l}]:l.split(',').map(a,{'path':"+at+",'a':a.trim()})")
				}
				return "(" + inField + "+" + in(sourceRangesAnnotation, hidden) + "+" + in(azureRangesAnnotation, visible) +
					").map(r,{'path':r.path,'as':r.as,'a':r.a,'p':" + normalRange("r.a") + "})" +
					".filter(r,r.p==''||!(" + inCIDRs("r.p", allowed) + ")).map(r," +
					fault("r.path", "r.as+(r.p==''?r.a:r.p)", quote("r.a")+"+(r.p==''?' is not an address range':"+
						str(" is not allowed"+passing(allowed))+")") + ")"
			},
			// A range in a range that existed before is not a new finding, and neither is a range that no longer has an
			// effect.
			known: "o.exists(k,(k.startsWith('v')||y.id.startsWith('h'))&&(k.substring(1)==y.id.substring(1)||" +
				"isCIDR(k.substring(1))&&isCIDR(y.id.substring(1))&&cidr(k.substring(1)).containsCIDR(y.id.substring(1))))",
		}, check{id: "loadBalancerSourceRanges.allowed", faults: func(s side) string {
			keys := "[" + strings.Join(quotedAll(clientAnnotations()), ",") + "]"
			return keys + ".map(k,{'k':k.split('=')[0],'w':k,'v':string(" + string(s) +
				".metadata.?annotations[?k.split('=')[0]].orValue(''))})" +
				".filter(a,a.v.trim()!=''&&(a.w==a.k||a.w==a.k+'='+a.v.trim().lowerAscii())).map(a," +
				fault("'metadata.annotations['+strings.quote(a.k)+']'",
					"("+isLoadBalancer(s)+"?'v':'h')+a.k+'='+a.v",
					"'lets in clients whose address ranges are not known here; remove it, and list ranges in "+
						"spec.loadBalancerSourceRanges'") + ")"
		}, known: "o.exists(k,(k.startsWith('v')||y.id.startsWith('h'))&&k.substring(1)==y.id.substring(1))"})
	}
	return all
}

// azureRangesAnnotation is the same as in package policy.
const azureRangesAnnotation = "service.beta.kubernetes.io/azure-allowed-ip-ranges"

// clientAnnotations returns keys of annotations, with =VALUE if only one value has an effect.
func clientAnnotations() []string {
	var keys []string
	for _, a := range policy.ClientAnnotations() {
		keys = append(keys, strings.TrimSuffix(a.Key+"="+a.Value, "="))
	}
	return keys
}

// quotedAll returns the CEL literals of strings.
func quotedAll(list []string) []string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = str(s)
	}
	return quoted
}

func externalIPChecks(e *policy.Entry) []check {
	allowed, ok := allowedIn(e, "externalIPs")
	if !ok {
		return nil
	}
	return []check{{id: "externalIPs.allowed", faults: func(s side) string {
		return string(s) + ".spec.?externalIPs.orValue([])" +
			".transformList(i,a,{'path':'spec.externalIPs['+string(i)+']','a':string(a)})" +
			".map(r,{'path':r.path,'a':r.a,'p':" + normalAddress("r.a") + "})" +
			".filter(r,r.p==''||!(" + inCIDRs("r.p+(r.p.contains(':')?'/128':'/32')", allowed) + ")).map(r," +
			fault("r.path", "r.p==''?' '+r.a:r.p", quote("r.a")+"+(r.p==''?' is not an address':"+
				str(" is not allowed"+passing(allowed))+")") + ")"
	}}}
}
