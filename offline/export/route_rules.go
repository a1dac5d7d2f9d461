package export

// routePaths returns an expression for the path of every match of an HTTPRoute or a GRPCRoute. For other routes it is
// an empty list.
func routePaths() string {
	every := func(field string) string {
		return "[{'field':" + field + ",'typeField':" + field + ",'path':'/','type':'PathPrefix','host':''}]"
	}
	each := func(match string) string {
		return cel(`size(object.spec.?rules.orValue([]))==0?$everyPath:object.spec.rules.transformList(i,rule,
			size(rule.?matches.orValue([]))==0?$everyMatch:rule.matches.transformList(j,match,
				['spec.rules['+string(i)+'].matches['+string(j)+'].'].map(at,$match)[0])).flatten()`,
			"$everyPath", every("'spec.rules'"), "$everyMatch", every("'spec.rules['+string(i)+'].matches'"), "$match", match)
	}
	// An empty string is the same as an absent field.
	const (
		http = `[[string(match.?path.?value.orValue('')),string(match.?path.?type.orValue(''))]].map(parts,
			{'field':at+'path.value','typeField':at+'path.type','path':parts[0]==''?'/':parts[0],
				'type':parts[1]==''?'PathPrefix':parts[1],'host':''})[0]`
		grpc = `[[string(match.?method.?service.orValue('')),string(match.?method.?method.orValue('')),
			string(match.?method.?type.orValue(''))]].map(parts,{'field':at+'method','typeField':at+'method.type',
				'path':parts[0]==''&&parts[1]==''?'/':'/'+(parts[0]==''?'*':parts[0])+'/'+(parts[1]==''?'*':parts[1]),
				'type':parts[2]!=''?parts[2]:parts[0]==''&&parts[1]==''?'PathPrefix':'Exact','host':''})[0]`
	)
	return cel("request.resource.resource=='httproutes'?($http):request.resource.resource=='grpcroutes'?($grpc):[]",
		"$http", each(cel(http)), "$grpc", each(cel(grpc)))
}

// routeBackends returns an expression for every backend of a route: the backends of rules, and the backends to which
// filters of rules and of backends send requests. Each backend includes the purpose of the requests.
func routeBackends() string {
	one := func(of, path, purpose string) string {
		return cel("{'path':$path,$reference,'purpose':'$purpose '+string($of.?port.orValue(0))}", "$path", path,
			"$reference", reference(of, "", "Service"), "$purpose", purpose, "$of", of)
	}
	filters := func(of, path string) string {
		at := func(field, purpose string) string {
			return cel("(has(filter.$field)?[$ref]:[])", "$field", field,
				"$ref", one("filter."+field+".?backendRef", path+"+'.filters['+string(k)+']."+field+".backendRef'", purpose))
		}
		return of + ".?filters.orValue([]).transformList(k,filter," + at("requestMirror", "mirror") + "+" +
			at("externalAuth", "auth") + ")"
	}
	const rule = "'spec.rules['+string(i)+']'"
	const backend = "'spec.rules['+string(i)+'].backendRefs['+string(j)+']'"
	return cel(`object.spec.?rules.orValue([]).transformList(i,rule,
		rule.?backendRefs.orValue([]).transformList(j,backend,$backend)).flatten()+
		object.spec.?rules.orValue([]).transformList(i,rule,$ofRule+rule.?backendRefs.orValue([])
			.transformList(j,backend,$ofBackend).flatten()).flatten().flatten()`,
		"$backend", one("backend", backend, "serve"), "$ofRule", filters("rule", rule),
		"$ofBackend", filters("backend", backend))
}

// backendChecks returns the checks of the backends block, in the order of policy/route_backends.go.
func backendChecks() []check {
	faults := func(condition, field, value string) string {
		return cel("variables.backends.filter(backend,$condition).map(backend,$fault)", "$condition", condition,
			"$fault", fault("backend.path+'.'+"+field, referenceID("backend")+"+' '+backend.purpose", value))
	}
	return []check{
		of("backends.crossNamespace", "is or may be in another namespace", always(faults(
			"backend.namespace!=request.namespace||backend.kind=='Hostname.networking.istio.io'",
			"(backend.namespace!=request.namespace?'namespace':'kind')", "backend.namespace+'/'+backend.name"))),
		of("backends.kinds", notAllowed, func(kinds any) string {
			return faults("!("+globs(texts(kinds), "backend.kind")+")", "'kind'", "backend.kind")
		}),
	}
}
