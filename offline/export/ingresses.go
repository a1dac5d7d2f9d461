package export

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

const (
	classAnnotation     = "kubernetes.io/ingress.class"
	allowHTTPAnnotation = "kubernetes.io/ingress.allow-http"
)

// ingresses returns the kind for Ingresses. The API server has validated their hosts, so each host is a name in lower
// case, or *. and a name.
func (x *exporter) ingresses() exportedKind {
	return exportedKind{
		name: "ingresses",
		resources: []admissionv1.NamedRuleWithOperations{rule("networking.k8s.io", createAndUpdate(), "ingresses",
			"ingresses/status")},
		conditions: []admissionv1.MatchCondition{notTheClusterItself(), validatedFieldsChange()},
		variables: func(s side) []variable {
			return []variable{
				x.solver(s, ingressSolver),
				{"classes" + s.suffix(), classesOf(s)},
				{"annotations" + s.suffix(), validatedAnnotationKeys(s)},
				{"hosts" + s.suffix(), x.ruleHosts(s)},
				{"claims" + s.suffix(), x.ingressClaims(s)},
				{"paths" + s.suffix(), pathsOf(s)},
				{"regexPaths" + s.suffix(), regexPaths(s)},
				{"namesTLS" + s.suffix(), namesTLS(s)},
				{"plainClasses" + s.suffix(), plainClasses(s)},
			}
		},
		classes: func(s side) string { return "variables.classes" + s.suffix() + ".map(c,c.class)" },
		checks:  ingressChecks,
		capacity: func(int) string {
			return "validates Ingresses with up to " + number(LargestIngress) +
				" hosts; the API server denies objects that exceed its cost budget"
		},
	}
}

// ingressFields returns the fields that the export of an entry covers.
func ingressFields() known {
	return known{
		"hosts":      fieldHostFields(),
		"tls":        {"required": nil, "coversHosts": nil, "allowHTTP": nil},
		"classNames": {"required": nil, "allowed": nil}, "paths": pathFields(),
		"annotations": annotationFields(), "defaultBackend": nil,
	}
}

// classesOf returns an expression for the classes of an Ingress, each with its path.
func classesOf(s side) string {
	return "[{'path':'spec.ingressClassName','class':string(" + string(s) + ".spec.?ingressClassName.orValue(''))}," +
		"{'path':" + str(annotationPath(classAnnotation)) + ",'class':string(" + string(s) +
		".metadata.?annotations[?'" + classAnnotation + "'].orValue(''))}].filter(c,c.class!='')"
}

// ruleHosts returns an expression for the claims of the rules of an Ingress and of its default backend. If a class of
// the Ingress is a globbing class, *.x in a rule includes names at any depth.
func (x *exporter) ruleHosts(s side) string {
	pattern := bind("o", oneLabel("v"), "o.startsWith('*.')&&variables.classes"+s.suffix()+".exists(c,"+
		x.isGlobbing("c.class")+")?'*'+o:o")
	rules := string(s) + ".spec.?rules.orValue([])"
	const path = "'spec.rules['+string(i)+'].host'"
	backend := "(has(" + string(s) + ".spec.defaultBackend)?[" + everyClaim("'spec.defaultBackend'", atBackend) + "]:[])"
	return choose("size("+rules+")==0", "["+everyClaim("'spec.rules'", atNone)+"]", rules+".transformList(i,r,"+
		bind("v", "string(r.?host.orValue(''))", choose("v==''", everyClaim(path, atRule), claim(path, atRule, pattern, "v",
			"''")))+
		")+"+backend)
}

// isGlobbing returns a condition that a class is a globbing class, as package policy decides.
func (x *exporter) isGlobbing(class string) string {
	var listed, oneLabel []string
	for _, c := range texts(x.settings["globbingClasses"]) {
		if name, not := strings.CutPrefix(c, "!"); not {
			oneLabel = append(oneLabel, name)
		} else {
			listed = append(listed, c)
		}
	}
	byDefault := globs(policy.DefaultGlobbingClasses(), class)
	if len(oneLabel) > 0 {
		byDefault = allOf("!("+globs(oneLabel, class)+")", byDefault)
	}
	if len(listed) == 0 {
		return byDefault
	}
	return anyOf(globs(listed, class), byDefault)
}

// ingressClaims returns an expression for the claims of all places in an Ingress. A host in spec.tls does not count
// if a rule also has it, unless the controller serves a wildcard at any depth.
func (x *exporter) ingressClaims(s side) string {
	hosts := "variables.hosts" + s.suffix()
	tls := string(s) + ".spec.?tls.orValue([]).transformList(i,t," + bind("l", "t.?hosts.orValue([]).map(v,string(v))",
		"l.transformList(j,v,v!=''&&(j==0||v!=l[j-1])&&!(j<size("+hosts+")&&v=="+hosts+"[j].text&&!"+hosts+
			"[j].p.startsWith('**.')),"+
			claim("'spec.tls['+string(i)+'].hosts['+string(j)+']'", atTLS, oneLabel("v"), "v", "''")+")") + ").flatten()"
	return bind("fields", hosts+"+"+tls, "fields+"+x.annotationClaims(s, "fields", "Ingress"))
}

// ingressChecks returns the checks of an entry, in the order of policy/ingresses.go.
func ingressChecks(e *policy.Entry) []check {
	ofPaths := pathChecks(blockOf(e, "paths"), func(s side) string { return "variables.regexPaths" + s.suffix() },
		"write pathType Exact or Prefix, without use-regex, path-regex and rewrite-target")
	all := slices.Concat(hostChecks(blockOf(e, "hosts"), "claims", "spec.rules"),
		unlessSolvers(slices.Concat(tlsChecks(e), classNameChecks(e), ofPaths)),
		unlessSolvers(annotationChecks(blockOf(e, "annotations")), requiredAnnotation))
	if e.Fields["defaultBackend"] != nil {
		all = append(all, check{id: "defaultBackend", faults: func(s side) string {
			return when("has("+string(s)+".spec.defaultBackend)", "'spec.defaultBackend'", "''",
				"'gets every request that no rule matches, and is denied; list hosts in spec.rules instead'")
		}})
	}
	return all
}

func tlsChecks(e *policy.Entry) []check {
	var all []check
	tls := blockOf(e, "tls")
	list := func(s side) string { return string(s) + ".spec.?tls.orValue([])" }
	if tls["required"] != nil {
		all = append(all, check{id: "tls.required", faults: func(s side) string {
			return when("!"+onlyTLS(s), "'spec.tls'", "''", tlsFault(s))
		}})
	}
	if tls["coversHosts"] != nil {
		all = append(all, check{id: "tls.coversHosts", faults: func(s side) string {
			certified := list(s) + ".map(t,t.?hosts.orValue([]).map(h,string(h))).flatten()"
			unnamed := list(s) + ".transformList(i,t,size(t.?hosts.orValue([]))==0,' (spec.tls['+string(i)+" +
				"'] does not have hosts, so its coverage is unknown)')+['']"
			parent := "(!p.startsWith('*.')&&p.contains('.')?p.substring(p.indexOf('.')+1):'')"
			why := "h.p=='**'?" + everyHost() + "+'; no certificate covers that'+" + setOne() + ".replace(';',',',1):" +
				quote("p") +
				"+' is not in any spec.tls[].hosts; add it'+" +
				bind("q", parent, "q==''?'':' or '+"+quote("'*.'+q")) + "+u[0]"
			// A certificate has a host at any depth as a host of one label.
			asCertified := "h.p.startsWith('**.')?h.p.substring(1):h.p"
			covered := "p in t||p!='**'&&!p.startsWith('*.')&&('*.'+" + parent + ") in t"
			return choose("size("+list(s)+")==0&&"+onlyTLS(s), "[]", bind("t", certified, bind("u", unnamed,
				"variables.hosts"+s.suffix()+".filter(h,!("+bind("p", asCertified, covered)+")).map(h,"+
					bind("p", asCertified, fault("h.path", hostID, why))+")")))
		}})
	}
	if tls["allowHTTP"] != nil {
		all = append(all, check{id: "tls.allowHTTP", faults: func(s side) string {
			annotation := string(s) + ".metadata.?annotations[?'" + allowHTTPAnnotation + "']"
			return when(annotation+".orValue('')!='false'", str(annotationPath(allowHTTPAnnotation)), "''",
				"("+annotation+".hasValue()?'is '+"+quote("string("+annotation+".value())")+":'is not set')+"+
					str(`; set it to "false" so that plain HTTP is not served`))
		}})
	}
	return all
}

func classNameChecks(e *policy.Entry) []check {
	allowed, limited := allowedIn(e, "classNames")
	required := requires(e, "classNames")
	if !limited && !required {
		return nil
	}
	classes := func(s side) string { return "variables.classes" + s.suffix() }
	var all []check
	if required {
		end := "; set one"
		if limited {
			end = passing(allowed)
		}
		all = append(all, check{id: "classNames.required", faults: func(s side) string {
			return when("size("+classes(s)+")==0", "'spec.ingressClassName'", "''", str("no class is set"+end))
		}})
	}
	if limited {
		all = append(all, check{id: "classNames.allowed", faults: func(s side) string {
			return classes(s) + ".filter(c,!(" + globs(allowed, "c.class") + ")).map(c," +
				fault("c.path", "c.class", quote("c.class")+"+"+str(" is not allowed"+passing(allowed))) + ")"
		}})
	}
	return append(all, check{id: "classNames.contradiction", faults: func(s side) string {
		return bind("c", classes(s), when("size(c)==2&&c[0].class!=c[1].class", "c[1].path", "c[0].class+' '+c[1].class",
			quote("c[1].class")+"+' contradicts spec.ingressClassName, which is '+"+quote("c[0].class")+
				"+'; remove the annotation'"))
	}})
}
