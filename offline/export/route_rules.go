package export

import "github.com/evergate/evergate/policy"

// routePaths returns an expression for the path of every match of an HTTPRoute or a GRPCRoute. For other routes it is
// an empty list.
func routePaths(s side) string {
	const rules = "spec.rules"
	every := func(field string) string {
		return "[{'field':" + field + ",'typeField':" + field + ",'path':'/','type':'PathPrefix','host':''}]"
	}
	const at = "'spec.rules['+string(i)+'].matches"
	match := func(field, path, kind string) string {
		return "{'field':" + at + "['+string(j)+']." + field + "','typeField':" + at + "['+string(j)+']." + kind +
			"','path':" + path + ",'type':t,'host':''}"
	}
	text := func(of string) string { return "string(" + of + ".orValue(''))" }
	http := bind("v", text("m.?path.?value"), bind("t", text("m.?path.?type"), bind("t", "t==''?'PathPrefix':t",
		match("path.value", "(v==''?'/':v)", "path.type"))))
	grpc := bind("a", text("m.?method.?service"), bind("b", text("m.?method.?method"), bind("t", text("m.?method.?type"),
		bind("t", choose("t!=''", "t", "a==''&&b==''?'PathPrefix':'Exact'"),
			match("method", "(a==''&&b==''?'/':'/'+(a==''?'*':a)+'/'+(b==''?'*':b))", "method.type")))))
	list := string(s) + ".spec.?rules.orValue([])"
	each := func(match string) string {
		return choose("size("+list+")==0", every("'"+rules+"'"), list+".transformList(i,r,"+
			bind("l", "r.?matches.orValue([])", choose("size(l)==0", every(at+"'"), "l.transformList(j,m,"+match+")"))+
			").flatten()")
	}
	return choose("request.resource.resource=='httproutes'", each(http),
		choose("request.resource.resource=='grpcroutes'", each(grpc), "[]"))
}

// eachFilter returns an expression for a list with the result of an expression for each filter of a route: first the
// filters of a rule, then the filters of its backends. of returns the expression for the filter f at a path.
func eachFilter(s side, of func(path string) string) string {
	filters := func(holder, path string) string {
		return holder + ".?filters.orValue([]).transformList(k,f," + of(path+".filters['+string(k)+']'") + ")"
	}
	const rule = "'spec.rules['+string(i)+']"
	return string(s) + ".spec.?rules.orValue([]).transformList(i,r," + filters("r", rule) +
		"+r.?backendRefs.orValue([]).transformList(j,b," + filters("b", rule+".backendRefs['+string(j)+']") +
		").flatten()).flatten()"
}

// routeFilter returns an expression for a filter: its path, its type, and the identity of the referenced object.
func routeFilter(path string) string {
	backend := func(field string) string {
		return bind("z", "{"+reference("f."+field+".?backendRef", "", "Service")+"}", referenceID("z")) +
			"+' '+string(f." + field + ".?backendRef.?port.orValue(0))"
	}
	extension := bind("z", "{"+reference("f.extensionRef", "", "")+"}", referenceID("z"))
	ref := choose("has(f.requestMirror)", backend("requestMirror"),
		choose("has(f.extensionRef)", extension, choose("has(f.externalAuth)", backend("externalAuth"), "''")))
	return "{'path':" + path + ",'type':string(f.?type.orValue('')),'ref':" + ref + "}"
}

// routeBackends returns an expression for every backend of a route: the backends of rules, and the backends to which
// filters send requests. Each backend includes the purpose of the requests.
func routeBackends(s side) string {
	one := func(of, path, part string) string {
		return "{'path':" + path + "," + reference(of, "", "Service") + ",'part':'" + part + " '+string(" + of +
			".?port.orValue(0))}"
	}
	ofFilter := func(path string) string {
		at := func(field, part string) string {
			return choose("has(f."+field+")", "["+one("f."+field+".?backendRef", path+"+'."+field+".backendRef'", part)+"]",
				"[]")
		}
		return at("requestMirror", "1") + "+" + at("externalAuth", "2")
	}
	return string(s) + ".spec.?rules.orValue([]).transformList(i,r,r.?backendRefs.orValue([]).transformList(j,b," +
		one("b", "'spec.rules['+string(i)+'].backendRefs['+string(j)+']'", "0") + ")).flatten()+" +
		eachFilter(s, ofFilter) + ".flatten()"
}

// backendChecks returns the checks of the backends block, in the order of policy/route_backends.go.
func backendChecks(block policy.Fields) []check {
	var all []check
	add := func(id, fails, field, why string) {
		all = append(all, check{id: id, faults: func(s side) string {
			return "variables.backends" + s.suffix() + ".filter(b," + fails + ").map(b," +
				fault("b.path+'.'+"+field, referenceID("b")+"+' '+b.part", why) + ")"
		}})
	}
	if block["crossNamespace"] != nil {
		const other = "b.ns!=request.namespace"
		add("backends.crossNamespace", other+"||b.kind=='Hostname.networking.istio.io'",
			choose(other, "'namespace'", "'kind'"), described("b")+"+"+choose(other, "' is in another namespace'",
				"' may be a Service in another namespace; write kind Service'"))
	}
	if kinds, ok := block["kinds"].([]any); ok {
		add("backends.kinds", "!("+globs(texts(kinds), "b.kind")+")", "'kind'",
			quote("b.kind")+"+"+str(" is not allowed"+passing(texts(kinds))))
	}
	return all
}

// filterChecks returns the check of the filters block. omitFilters handles filters that do not refer to an object.
func filterChecks(block policy.Fields) []check {
	denied := texts(block["denied"])
	if len(denied) == 0 {
		return nil
	}
	return []check{{id: "filters.denied", faults: func(s side) string {
		return "variables.filters" + s.suffix() + ".filter(f,f.type in " + set(denied) + ").map(f," +
			fault("f.path+'.type'", "f.type+'\\n'+f.ref", quote("f.type")+"+' is denied; remove the filter'") + ")"
	}}}
}
