package export

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

const (
	// maxAnnotationHosts is the maximum number of hosts in annotations that are read, as in package policy. If there
	// are more, the next host counts as every host.
	maxAnnotationHosts = "1000"
	// element is the regular expression of an element in a comma-separated list. An element does not begin with white
	// space as defined by strings.TrimSpace.
	element = `[^,\pZ\t-\r\x{85}][^,]*`
)

// unread reports whether CEL expressions cannot read the values of a grammar: JSON and URIs.
func unread(grammar string) bool { return grammar == "alb" || grammar == "uris" }

// hostAnnotations contains the annotations of one kind by which objects claim hosts.
type hostAnnotations []policy.HostAnnotation

// annotationClaims returns an expression for the claims in metadata.annotations of an object, by the tables of the
// given kinds, in this order. hosts is an expression for the claims in fields.
func (x *exporter) annotationClaims(hosts string, kinds ...string) string {
	return x.claimsIn(metadataAnnotations(), hosts, kinds...)
}

// claimsIn returns an expression for the claims in annotations, as package policy reads them: sorted by key, and at
// most maxAnnotationHosts.
func (x *exporter) claimsIn(f annotationField, hosts string, kinds ...string) string {
	var claims, values []string
	for _, kind := range kinds {
		table := hostAnnotations(x.hostAnnotations[kind])
		if len(table) == 0 {
			continue
		}
		annotations := cel("$keys.map(key,{'key':key,'grammars':$grammars,'value':string(object.$field[key])})"+
			".filter(annotation,annotation.grammars!='')",
			"$keys", f.keys, "$grammars", table.grammars(), "$field", f.path)
		claims = append(claims, cel("$annotations.map(annotation,$claims).flatten()", "$annotations", annotations,
			"$claims", table.byGrammar("'"+f.path+"['+strings.quote(annotation.key)+']'", hosts)))
		values = append(values, annotations+".map(annotation,annotation.key+' '+strings.quote(annotation.value)).join(' ')")
	}
	if claims == nil {
		return "[]"
	}
	if hosts != "[]" { // annotations derive hosts from them
		values = append(values, hosts+".map(claim,(claim.kind=='"+unserved+"'?'~':'')+claim.pattern).join(' ')")
	}
	return cel(`[$claims].map(claims,size(claims)<=$max?claims:claims.slice(0,$max)+[claims[$max]].map(claim,
		{'path':claim.path,'kind':claim.kind,'pattern':'**','text':'more than $max names','key':claim.key,'reads':'every',
			'rest':'^'+$rest}))[0]`,
		"$claims", strings.Join(claims, "+"), "$max", maxAnnotationHosts, "$rest", strings.Join(values, "+"))
}

// grammars returns an expression for the grammars of all keys that match an annotation, with a plus sign after each.
// It is empty if the annotation does not contain hosts.
func (t hostAnnotations) grammars() string {
	words := map[string]string{}
	var keys, globbed []string
	for _, a := range t {
		if strings.Contains(a.Key, "*") {
			globbed = append(globbed, choose(globs([]string{a.Key}, "lower"), str(a.Grammar+"+"), "''"))
			continue
		}
		if words[a.Key] == "" {
			keys = append(keys, a.Key)
		}
		words[a.Key] += a.Grammar + "+"
	}
	pairs := make([]string, len(keys))
	for i, k := range keys {
		pairs[i] = str(k) + ":" + str(words[k])
	}
	return cel("[key.lowerAscii()].map(lower,$all)[0]", "$all",
		strings.Join(append([]string{"{" + strings.Join(pairs, ",") + "}[?lower].orValue('')"}, globbed...), "+"))
}

// byGrammar returns an expression for the claims in the value of an annotation, by its grammars.
func (t hostAnnotations) byGrammar(path, hosts string) string {
	claims := "[]"
	var seen []string
	for _, a := range t {
		if !slices.Contains(seen, a.Grammar) {
			seen = append(seen, a.Grammar)
			claims = "grammar==" + str(a.Grammar) + "?" + t.read(a.Grammar, path, hosts) + ":" + claims
		}
	}
	return "annotation.grammars.split('+').distinct().map(grammar," + claims + ").flatten()"
}

// read returns an expression for the claims in the value of an annotation by one grammar. It reads them like
// policy/internal/claim/annotations.go.
func (t hostAnnotations) read(grammar, path, hosts string) string {
	const value = "annotation.value"
	one := func(pattern, text string) string { return claim(path, repeated, pattern, text, "annotation.key") }
	every := "[" + one("'**'", value) + "]"
	each := func(claims string) string {
		return cel("$value.findAll($element,$max+1).map(text,text.trim())", "$value", value, "$element", str(element),
			"$max", maxAnnotationHosts) + claims
	}
	switch grammar {
	case "dns":
		return each(".map(text," + recordNames(path) + ").flatten()")
	case "gardener":
		return each(".filter(text,!(text in ['*','all'])).map(text," + recordNames(path) + ").flatten()")
	case "pathmatcher":
		return "(" + value + " in ['','Path','PathPrefix','PathRegexp']?[]:" + every + ")"
	case "url":
		const host = `[(text.matches('^[a-zA-Z][a-zA-Z0-9+.-]*://')?text.substring(text.indexOf('://')+3):text).split('/')[0]]
			.map(authority,authority.contains('@')?'@':authority.split(':')[0])[0]`
		return cel("[$value.trim()].filter(text,text!='').map(text,$claim)", "$value", value,
			"$claim", one(anyDepth(cel(host)), "text"))
	case "certificate":
		return each(".map(text," + one(oneLabel("text"), "text") + ")")
	case "addresses":
		return each(".map(text," + one(bind("address", normalAddress("text"), "address==''?'**':address"), "text") + ")")
	case "commonname": // free text is not a name
		return each(".map(text,"+one(oneLabel("text"), "text")+")") +
			".filter(claim,claim.reads==''||!claim.text.matches('^[a-zA-Z0-9 _:/@()&-]*$'))"
	case "nginx":
		return each(cel(".map(text,text.startsWith('.')?[$parent].map(parent,parent=='**'||parent.startsWith('*')?[$every]"+
			":[$parentItself,$below])[0]:[$name]).flatten()", "$parentItself", one("parent", "text"),
			"$parent", oneLabel("text.substring(1)"), "$every", one("'**'", "text"), "$below", one("'**.'+parent", "text"),
			"$name", one(anyDepth("text"), "text")))
	case "www":
		return cel(`($value in ['1','t','T','TRUE','true','True']
			?$hosts.filter(claim,claim.kind=='$main'&&!claim.pattern.startsWith('*'))
				.map(claim,claim.pattern.startsWith('www.')?claim.pattern.substring(4):'www.'+claim.pattern)
				.filter(name,size(name)<=$max).map(name,$claim):[])`,
			"$value", value, "$hosts", hosts, "$main", mainField, "$max", maxHost, "$claim", one("name", "name"))
	case "target":
		return cel("($value==''?[]:$hosts.filter(claim,claim.pattern.startsWith('*.')).map(claim,$claim))", "$value", value,
			"$hosts", hosts, "$claim", one("'*'+claim.pattern", "claim.pattern"))
	case "any":
		return "(" + value + ".trim()==''?[]:" + every + ")"
	case "nginxconf":
		return "(" + value + ".matches('[{}]|server_name|listen|include|_by_lua|js_|perl')?" + every + ":[])"
	case "eskip":
		return "(" + eskipNamesHosts() + "?" + every + ":[])"
	}
	// For these annotations, the export has a condition: a separate rule that denies them. That rule does not match
	// keys in another case.
	return "(" + globs(t.keysOf(grammar), "annotation.key") + "?[]:" + every + ")"
}

// recordNames returns an expression for the claims of a text as the name of a DNS record. See recordNames in package
// policy: the name after the last label that begins with an underscore, if there is one, controls hosts.
func recordNames(path string) string {
	one := func(pattern, reads string) string {
		return cel("{'path':$path,'kind':'$kind','pattern':$pattern,'text':text,'key':annotation.key,'reads':$reads}",
			"$path", path, "$kind", repeated, "$pattern", pattern, "$reads", reads)
	}
	return cel(`[$name].map(name,!('.'+name).contains('._')?[$ordinary]
		:[name.substring(('.'+name).lastIndexOf('._'))].map(label,label.contains('.')?
			label.substring(label.indexOf('.')+1):'').map(parent,parent==''?[$every]:[$parent,$below])[0])[0]`,
		"$name", anyDepth("text"), "$ordinary", one("name", "name=='**'?'every':''"), "$every", one("'**'", "'every'"),
		"$parent", one("parent", "'control'"), "$below", one("'**.'+parent", "'control'"))
}

// keysOf returns the keys of a grammar.
func (t hostAnnotations) keysOf(grammar string) (keys []string) {
	for _, a := range t {
		if a.Grammar == grammar {
			keys = append(keys, a.Key)
		}
	}
	return keys
}

// eskipNamesHosts is a condition that eskip has a predicate about hosts outside of quoted strings, or anywhere if
// quotes in it may have another meaning.
func eskipNamesHosts() string {
	const quoted = `"(?:[^"\\]|\\.)*"`
	return cel("annotation.value.contains('Host')&&(!annotation.value.matches($plain)||"+
		"annotation.value.matches($outside))", "$plain", str(`^(?s:(?:[^"/`+"`"+`]|`+quoted+`)*)$`),
		"$outside", str(`^(?s:(?:[^"]|`+quoted+`)*?Host)`))
}
