package export

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

const (
	classAnnotation     = "kubernetes.io/ingress.class"
	allowHTTPAnnotation = "kubernetes.io/ingress.allow-http"
)

// ingresses is the kind of Ingresses. The API server has validated their hosts: they are names in lower case, or *. and
// a name.
func (x *exporter) ingresses() kind {
	return kind{
		name: "ingresses",
		resources: []admissionv1.NamedRuleWithOperations{rule("networking.k8s.io", createAndUpdate(), "ingresses",
			"ingresses/status")},
		conditions: []admissionv1.MatchCondition{notTheClusterItself(), whatIsJudgedChanges()},
		variables: func(s side) []variable {
			return []variable{
				{"classes" + s.suffix(), classesOf(s)},
				{"annotations" + s.suffix(), annotationKeys(s)},
				{"hosts" + s.suffix(), x.ruleHosts(s)},
			}
		},
		classes: func(s side) string { return "variables.classes" + s.suffix() + ".map(c,c.class)" },
		checks:  ingressChecks,
	}
}

// ingressFields are the fields of an entry that are read.
func ingressFields() known {
	return known{
		"tls":        {"required": nil, "coversHosts": nil, "allowHTTP": nil},
		"classNames": {"required": nil, "allowed": nil}, "paths": {"types": nil, "deniedPatterns": nil},
		"annotations": annotationFields(), "defaultBackend": nil,
	}
}

// classesOf returns the classes that an Ingress names, each with its path.
func classesOf(s side) string {
	return "[{'path':'spec.ingressClassName','class':string(" + string(s) + ".spec.?ingressClassName.orValue(''))}," +
		"{'path':" + str(annotationPath(classAnnotation)) + ",'class':string(" + string(s) +
		".metadata.?annotations[?'" + classAnnotation + "'].orValue(''))}].filter(c,c.class!='')"
}

// ruleHosts returns the hosts of an Ingress: of its rules, and every host for a default backend beside rules and for an
// Ingress without rules. A host is a text, ** for every one. With globbing classes *.x in a rule is **.x.
func (x *exporter) ruleHosts(s side) string {
	host := "h"
	if globbing := texts(x.settings["globbingClasses"]); len(globbing) > 0 {
		host = "h.startsWith('*.')&&variables.classes" + s.suffix() + ".exists(c," + globs(globbing, "c.class") + ")?'*'+h:h"
	}
	rules := string(s) + ".spec.?rules.orValue([])"
	backend := "has(" + string(s) + ".spec.defaultBackend)?[{'path':'spec.defaultBackend','host':'**'," +
		"'every':'serves every host that no rule names','set':'name hosts in spec.rules instead'}]:[]"
	none := "'every':'no host is set, which means every host','set':'set one'"
	return "size(" + rules + ")==0?[{'path':'spec.rules','host':'**'," + none + "}]:" +
		rules + ".transformList(i,r,{'path':'spec.rules['+string(i)+'].host','host':" +
		bind("h", "string(r.?host.orValue(''))", "h==''?'**':"+host) + "," + none + "})+(" + backend + ")"
}

// ingressChecks returns the checks of an entry, in the order of policy/ingresses.go.
func ingressChecks(e *policy.Entry) []check {
	all := append(tlsChecks(e), classNameChecks(e)...)
	all = append(all, pathChecks(e)...)
	annotations, _ := e.Fields["annotations"].(policy.Fields)
	all = append(all, annotationChecks(annotations)...)
	if e.Fields["defaultBackend"] != nil {
		all = append(all, check{id: "defaultBackend", faults: func(s side) string {
			return when("has("+string(s)+".spec.defaultBackend)", "'spec.defaultBackend'", "''",
				"'gets every request that no rule takes, and is denied; name hosts in spec.rules instead'")
		}})
	}
	return all
}

func tlsChecks(e *policy.Entry) []check {
	var all []check
	tls, _ := e.Fields["tls"].(policy.Fields)
	list := func(s side) string { return string(s) + ".spec.?tls.orValue([])" }
	if tls["required"] != nil {
		all = append(all, check{id: "tls.required", faults: func(s side) string {
			return when("size("+list(s)+")==0", "'spec.tls'", "''", "'is not set, so that plain HTTP is served; set it'")
		}})
	}
	if tls["coversHosts"] != nil {
		all = append(all, check{id: "tls.coversHosts", faults: func(s side) string {
			certified := list(s) + ".map(t,t.?hosts.orValue([]).map(h,string(h))).flatten()"
			unnamed := list(s) + ".transformList(i,t,size(t.?hosts.orValue([]))==0,' (spec.tls['+string(i)+" +
				"'] names no host, so what it covers is not known)')+['']"
			parent := "(!p.startsWith('*.')&&p.contains('.')?p.substring(p.indexOf('.')+1):'')"
			why := "h.host=='**'?h.every+'; no certificate covers that, '+h.set:" + quote("p") +
				"+' is in no spec.tls[].hosts; add it'+" +
				bind("q", parent, "q==''?'':' or '+"+quote("'*.'+q")) + "+u[0]"
			// A host at any depth is in certificates as one of one label.
			asCertified := "h.host.startsWith('**.')?h.host.substring(1):h.host"
			covered := "p in t||p!='**'&&!p.startsWith('*.')&&('*.'+" + parent + ") in t"
			return bind("t", certified, bind("u", unnamed, "variables.hosts"+s.suffix()+".filter(h,!("+
				bind("p", asCertified, covered)+
				")).map(h,"+bind("p", asCertified, fault("h.path", "h.host", why))+")"))
		}})
	}
	if tls["allowHTTP"] != nil {
		all = append(all, check{id: "tls.allowHTTP", faults: func(s side) string {
			annotation := string(s) + ".metadata.?annotations[?'" + allowHTTPAnnotation + "']"
			return when(annotation+".orValue('')!='false'", str(annotationPath(allowHTTPAnnotation)), "''",
				"("+annotation+".hasValue()?'is '+"+quote("string("+annotation+".value())")+":'is not set')+"+
					str(`; set it to "false", so that plain HTTP is not served`))
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

// pathsOf returns the paths of an Ingress, each with its field, its type, and its host, which is a part of its
// identity.
func pathsOf(s side) string {
	return string(s) + ".spec.?rules.orValue([]).transformList(i,r,r.?http.?paths.orValue([]).transformList(j,p,{" +
		"'field':'spec.rules['+string(i)+'].http.paths['+string(j)+'].path','path':string(p.?path.orValue(''))," +
		"'type':(p.?pathType.orValue(null)==null?'':string(p.pathType)),'host':variables.hosts" + s.suffix() +
		"[i].host})).flatten()"
}

func pathChecks(e *policy.Entry) []check {
	var all []check
	paths, _ := e.Fields["paths"].(policy.Fields)
	const id = "p.host+' '+p.path"
	if types, ok := paths["types"]; ok {
		end := str(passing(texts(types)))
		all = append(all, check{id: "paths.types", faults: func(s side) string {
			return pathsOf(s) + ".filter(p,!(p.type in " + set(texts(types)) + ")).map(p," +
				fault("p.field+'Type'", id+"+' '+p.type",
					"(p.type==''?'no type is set':"+quote("p.type")+"+' is not allowed')+"+end) + ")"
		}})
	}
	if patterns := texts(paths["deniedPatterns"]); len(patterns) > 0 {
		all = append(all, check{id: "paths.deniedPatterns", faults: func(s side) string {
			by := "''"
			for i := len(patterns) - 1; i >= 0; i-- {
				by = "p.path.matches(" + str(whole(patterns[i:i+1])) + ")?" + str(patterns[i]) + ":" + by
			}
			return pathsOf(s) + ".map(p,{'field':p.field,'path':p.path,'host':p.host,'by':" + by +
				"}).filter(p,p.by!='').map(p," +
				fault("p.field", id, quote("p.path")+"+' matches '+p.by+', which is denied'") + ")"
		}})
	}
	return all
}
