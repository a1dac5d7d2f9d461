package export

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

const (
	// maxAnnotationHosts is the maximum number of hosts in annotations that are read, as in package policy. If there
	// are more, the next host counts as every host.
	maxAnnotationHosts = 1000
	// element is the regular expression of an element in a comma-separated list. An element does not begin with white
	// space as defined by strings.TrimSpace.
	element = `[^,\pZ\t-\r\x{85}][^,]*`
	// eskipQuoted matches a quoted string in eskip.
	eskipQuoted = `"(?:[^"\\]|\\.)*"`
	// title is the regular expression of a common name that is free text.
	title = `^[a-zA-Z0-9 _:/@()&-]*$`
)

// unread reports whether CEL expressions cannot read the values of a grammar: JSON and URIs.
func unread(grammar string) bool { return grammar == "alb" || grammar == "uris" }

// hostAnnotations contains the annotations of one kind by which objects claim hosts.
type hostAnnotations []policy.HostAnnotation

// annotationClaims returns an expression for the claims in metadata.annotations of an object, by the tables of the
// given kinds, in this order. hosts is an expression for the claims in fields.
func (x *exporter) annotationClaims(s side, hosts string, kinds ...string) string {
	return x.claimsIn("variables.annotations"+s.suffix(), string(s)+".metadata.annotations", "metadata.annotations", hosts,
		kinds...)
}

// claimsIn returns an expression for the claims in annotations, as package policy reads them: sorted by key, and at
// most maxAnnotationHosts. keys is an expression for the sorted keys, and values for the map.
func (x *exporter) claimsIn(keys, values, field, hosts string, kinds ...string) string {
	var lists, known, all []string
	for _, kind := range kinds {
		t := hostAnnotations(x.hostAnnotations[kind])
		if len(t) > 0 {
			known = append(known, keys+".map(k,{'k':k,'g':"+t.grammar()+"}).filter(a,a.g!='')")
			c := "c" + number(len(lists))
			read := bind("v", "string("+values+"[a.k])", t.byGrammar("'"+field+"['+strings.quote(a.k)+']'", hosts))
			lists = append(lists, c+".map(a,"+read+").flatten()")
			all = append(all, c+".map(a,a.k+' '+strings.quote(string("+values+"[a.k]))).join(' ')")
		}
	}
	if hosts != "[]" { // annotations derive hosts from them
		all = append(all, hosts+".map(h,(h.k=='"+atTLS+"'?'~':'')+h.p).join(' ')")
	}
	most := number(maxAnnotationHosts)
	more := "[a[" + most + "]].map(h,{'path':h.path,'k':h.k,'p':'**','text':'more than " + most +
		" names','key':h.key,'bad':'y','all':'^'+" + strings.Join(all, "+") + "})"
	claims := bind("a", sum(lists...), choose("size(a)<="+most, "a", "a.slice(0,"+most+")+"+more))
	for i, list := range slices.Backward(known) {
		claims = bind("c"+number(i), list, claims)
	}
	return claims
}

// grammar returns an expression for the grammars of all keys that match the annotation k, with a plus sign after each.
// It is empty if the annotation does not contain hosts.
func (t hostAnnotations) grammar() string {
	words := map[string]string{}
	var keys, globbed []string
	for _, a := range t {
		switch {
		case strings.Contains(a.Key, "*"):
			globbed = append(globbed, choose(globs([]string{a.Key}, "l"), str(a.Grammar+"+"), "''"))
		case words[a.Key] == "":
			keys = append(keys, a.Key)
			fallthrough
		default:
			words[a.Key] += a.Grammar + "+"
		}
	}
	pairs := make([]string, len(keys))
	for i, k := range keys {
		pairs[i] = str(k) + ":" + str(words[k])
	}
	all := append([]string{choose("l in m", "m[l]", "''")}, globbed...)
	return bind("l", "k.lowerAscii()", bind("m", "{"+strings.Join(pairs, ",")+"}", sum(all...)))
}

// byGrammar returns an expression for the claims in the value v of the annotation a, by its grammars.
func (t hostAnnotations) byGrammar(path, hosts string) string {
	claims := "[]"
	var seen []string
	for _, a := range t {
		if !slices.Contains(seen, a.Grammar) {
			seen = append(seen, a.Grammar)
			claims = choose("g=="+str(a.Grammar), t.read(a.Grammar, path, hosts), claims)
		}
	}
	return "a.g.split('+').distinct().map(g," + claims + ").flatten()"
}

// read returns an expression for the claims in the value v by one grammar. It reads them like
// policy/internal/claim/annotations.go.
func (t hostAnnotations) read(grammar, path, hosts string) string {
	one := func(pattern, written string) string { return claim(path, atRepeated, pattern, written, "a.k") }
	elements := "v.findAll(" + str(element) + "," + number(maxAnnotationHosts+1) + ").map(e,e.trim())"
	switch grammar {
	case "dns":
		return elements + ".map(e," + recordNames(path, "e") + ").flatten()"
	case "gardener":
		return elements + ".filter(e,e!='*'&&e!='all').map(e," + recordNames(path, "e") + ").flatten()"
	case "pathmatcher":
		return choose("v in ['','Path','PathPrefix','PathRegexp']", "[]", "["+one("'**'", "v")+"]")
	case "url":
		authority := "(w.matches('^[a-zA-Z][a-zA-Z0-9+.-]*://')?w.substring(w.indexOf('://')+3):w).split('/')[0]"
		host := bind("u", authority, choose("u.contains('@')", "'@'", "u.split(':')[0]"))
		return bind("w", "v.trim()", choose("w==''", "[]", "["+one(bind("e", host, anyDepth("e")), "w")+"]"))
	case "certificate":
		return elements + ".map(e," + one(oneLabel("e"), "e") + ")"
	case "addresses":
		address := bind("n", normalAddress("e"), choose("n==''", "'**'", "n"))
		return elements + ".map(e," + one(address, "e") + ")"
	case "commonname":
		return elements + ".map(e," + one(oneLabel("e"), "e") + ").filter(h,h.bad==''||!h.text.matches(" + str(title) + "))"
	case "nginx":
		below := bind("w", "e.substring(1)", bind("b", oneLabel("w"), choose("b=='**'||b.startsWith('*')",
			"["+one("'**'", "e")+"]", "["+one("b", "e")+","+one("'**.'+b", "e")+"]")))
		return elements + ".map(e," + choose("e.startsWith('.')", below, "["+one(anyDepth("e"), "e")+"]") + ").flatten()"
	case "www":
		other := "h.p.startsWith('www.')?h.p.substring(4):'www.'+h.p"
		return choose("v in ['1','t','T','TRUE','true','True']", hosts+".filter(h,h.k=='"+atRule+
			"'&&!h.p.startsWith('*')).map(h,"+
			other+").filter(w,size(w)<="+number(maxHost)+").map(w,"+one("w", "w")+")", "[]")
	case "target":
		return choose("v==''", "[]", hosts+".filter(h,h.p.startsWith('*.')).map(h,"+one("'*'+h.p", "h.p")+")")
	case "any":
		return choose("v.trim()==''", "[]", "["+one("'**'", "v")+"]")
	case "nginxconf":
		return choose("v.matches('[{}]|server_name|listen|include|_by_lua|js_|perl')", "["+one("'**'", "v")+"]", "[]")
	case "eskip":
		return choose(eskipNamesHosts(), "["+one("'**'", "v")+"]", "[]")
	}
	// For these annotations, the export has a condition: a separate rule that denies them. That rule does not match
	// keys in another case.
	return choose(globs(t.keysOf(grammar), "a.k"), "[]", "["+one("'**'", "v")+"]")
}

// recordNames returns an expression for the claims of the variable v as the name of a DNS record. See recordNames in
// package policy.
func recordNames(path, v string) string {
	one := func(pattern, bad string) string {
		return "{'path':" + path + ",'k':'" + atRepeated + "','p':" + pattern + ",'text':" + v + ",'key':a.k,'bad':" + bad +
			"}"
	}
	ordinary := "[" + one("o", "o=='**'?'y':''") + "]"
	about := bind("r", "o.substring(k)", "r.contains('.')?r.substring(r.indexOf('.')+1):''")
	special := bind("q", about, choose("q==''", "["+one("'**'", "'y'")+"]",
		"["+one("q", "'s'")+","+one("'**.'+q", "'s'")+"]"))
	return bind("o", anyDepth(v), choose("o.contains('_')", bind("k", "('.'+o).lastIndexOf('._')", choose("k<0", ordinary,
		special)), ordinary))
}

// keysOf returns the keys of a grammar.
func (t hostAnnotations) keysOf(grammar string) []string {
	var keys []string
	for _, a := range t {
		if a.Grammar == grammar {
			keys = append(keys, a.Key)
		}
	}
	return keys
}

// eskipNamesHosts returns a condition that the eskip v has a predicate about hosts outside of quoted strings, or
// anywhere if quotes in it may have another meaning.
func eskipNamesHosts() string {
	plain := `^(?s:(?:[^"/` + "`" + `]|` + eskipQuoted + `)*)$`
	outside := `^(?s:(?:[^"]|` + eskipQuoted + `)*?Host)`
	return "v.contains('Host')&&(!v.matches(" + str(plain) + ")||v.matches(" + str(outside) + "))"
}
