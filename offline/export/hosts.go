package export

import (
	"fmt"
	"slices"
	"strings"
)

// The checks of policy/internal/claim/rules.go. They evaluate claims. A claim is the set of hosts that one field of an
// object reaches. In expressions it is a map:
//
//	path     the field
//	kind     the kind of the field: see below
//	pattern  its hosts in lower case: a.example, *.a.example, **.a.example, or ** for every host
//	text     the text as written; empty if the claim does not come from a text
//	key      the key of an annotation; empty in other fields
//	reads    every if the text cannot be read as a name and therefore means every host, control if it is a name that
//	         controls the hosts, and otherwise empty
//	rest     ^ and the values of all annotations, if the claim represents the hosts after the first thousand; otherwise
//	         absent. No key contains ^, so a text cannot have the same identity

// The kinds of fields. A finding in one of the last two kinds is left out if another field claims the same hosts.
const (
	mainField = "main"   // a rule or a default backend of an Ingress, or the hostnames of a route
	repeated  = "repeat" // an annotation or a listener
	unserved  = "tls"    // spec.tls of an Ingress, whose hosts are not served
)

// claim returns an expression for the claim of a text that has been read as a pattern.
func claim(path, kind, pattern, text, key string) string {
	return cel(`[$pattern].map(pattern,{'path':$path,'kind':'$kind','pattern':pattern,'text':string($text),'key':$key,
		'reads':pattern=='**'?'every':''})[0]`,
		"$pattern", pattern, "$path", path, "$kind", kind, "$text", text, "$key", key)
}

// claimOfEvery returns an expression for a claim of every host that does not come from a text.
func claimOfEvery(path, kind string) string {
	return "{'path':" + path + ",'kind':'" + kind + "','pattern':'**','text':'','key':'','reads':''}"
}

// maxHost is the maximum length of a host name.
const maxHost = "253"

// oneLabel returns an expression for the pattern of a name. The * in *.example is one label. A text that is not a name
// means every host.
func oneLabel(text string) string {
	return cel(`[string($text)].map(text,size(text)<=$max&&text.matches($usual)?text:!text.matches($name)?'**'
		:[text.lowerAscii()].map(name,name.endsWith('.')?name.substring(0,size(name)-1):name)
			.map(name,size(name)-(name.startsWith('*.')?2:0)<=$max?name:'**')[0])[0]`,
		"$text", text, "$max", maxHost,
		"$usual", str(`^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$`),
		"$name", str(`^(?:\*\.)?[a-zA-Z0-9_-]+(?:\.[a-zA-Z0-9_-]+)*\.?$`))
}

// anyDepth is like oneLabel, but *.example includes names at any depth.
func anyDepth(text string) string {
	return bind("name", oneLabel(text), "name.startsWith('*.')?'*'+name:name")
}

// claimID is an expression for the identity of a claim: its hosts, also the name if the name controls the hosts, or the
// text and the annotation if the text is not a name. The identity of hosts that no controller serves begins with ~.
func claimID() string {
	// As in package policy.
	const serving = `'^[^/]*/(?:(?:server-alias|redirect-from)(?:-regex)?|from-to-www-redirect|host-aliases|
		hostname-extension|skipper-(?:predicate|routes)|router[.]pathmatcher|domain|url|config|host|fqdn|route-acl|
		config-(?:backend(?:-early|-late)?|tcp-service)|conditions[.].*|.*-snippet.*)$'`
	return cel(`(claim.kind=='$unserved'||claim.key!=''&&!claim.key.lowerAscii().matches($serving)?'~':'')+
		(claim.reads=='control'?claim.pattern+' '+claim.text
		:claim.reads=='every'?claim.key+claim.?rest.orValue('')+' '+claim.text:claim.pattern)`,
		"$unserved", unserved, "$serving", cel(serving))
}

// knownUnserved is a condition that a fault of a claim or a path existed before, perhaps with a wider meaning: see
// claimID and pathID.
const knownUnserved = "fault.id in $old||fault.id.startsWith('~')&&fault.id.substring(1) in $old"

// claimFaults returns an expression for the faults of the claims that meet a condition. It leaves out a claim that
// repeats another one, as package policy does: if an earlier claim has the same identity, or if the hosts are not
// served and any claim has the identity of hosts that are served. For texts that are not names, it leaves out a claim
// that is equal to the previous claim.
func claimFaults(claims, condition string) string {
	return cel(`[$claims.transformList(i,claim,($condition)&&!(claim.reads=='every'&&claim.kind!='$main'&&i>0&&
			[$claims[i-1]].exists(last,last.reads=='every'&&last.text==claim.text&&last.key==claim.key&&
				last.?rest==claim.?rest)),claim)]
		.map(claims,[claims.map(claim,$id)].map(ids,claims.transformList(i,claim,
			claim.kind=='$main'||claim.reads=='every'||!(ids[i] in ids.slice(0,i)||
				ids[i].startsWith('~')&&ids[i].substring(1) in ids),$fault))[0])[0]`,
		"$claims", claims, "$condition", condition, "$main", mainField, "$id", claimID(),
		"$fault", fault("claim.path", "ids[i]", "claim.text==''?claim.pattern:claim.text"))
}

// hostChecks returns the checks of the hosts block, in the order of policy/internal/claim/rules.go. claims is the name
// of the variable with the claims, and list is the field with the hosts.
func hostChecks(claims, list string) []check {
	claims = "variables." + claims
	host := func(field, hint string, condition func(value any) string) check {
		c := of(field, hint, func(value any) string { return claimFaults(claims, condition(value)) })
		c.known = knownUnserved
		return c
	}
	most := of("hosts.max", "different hosts are too many", func(limit any) string {
		return cel(`[size($claims)<=$most?0:size($claims.map(claim,claim.pattern.startsWith('**.')
			?claim.pattern.substring(1):claim.pattern).distinct())].filter(count,count>$most).map(count,$fault)`,
			"$claims", claims, "$most", fmt.Sprint(limit), "$fault", fault(str(list), "string(count)", "string(count)"))
	})
	most.known = "$old.exists(old,int(old)>=int(fault.id))" // a larger number than before is a new finding
	return []check{
		host("hosts.required", "means every host: set a host", always("claim.pattern=='**'")),
		host("hosts.allowed", notAllowed, func(list any) string {
			return "!(" + hostAllowed("claim.pattern", texts(list)) + ")"
		}),
		host("hosts.denied", "is denied or covers a denied host", func(list any) string {
			return hostDenied("claim.pattern", texts(list))
		}),
		host("hosts.wildcards", "is a wildcard, which is denied", always("claim.pattern.startsWith('*')")),
		most,
	}
}

// covering returns an expression for the possible patterns in a policy that cover all hosts of a claim's pattern: the
// pattern itself, * before the parent of its first label, and ** before that parent and before all its parents. It
// leaves out forms that no pattern in the list has.
func covering(pattern string, list []string) string {
	has := func(prefix string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(p, prefix) })
	}
	all := "[" + pattern + "]"
	if has("*.") {
		all += "+(" + pattern + ".startsWith('*')?[]:['*.'+parent])"
	}
	if has("**.") {
		all += "+[parent.split('.')].map(labels,lists.range(size(labels)).map(n," +
			"'**.'+labels.slice(n,size(labels)).join('.')))[0]"
	}
	if slices.Contains(list, "**") {
		all += "+['**']"
	}
	return cel("[$pattern.contains('.')?$pattern.substring($pattern.indexOf('.')+1):''].map(parent,$all)[0]",
		"$pattern", pattern, "$all", all)
}

// namespacePlaceholder is the label of a pattern that represents the namespace of the object.
const namespacePlaceholder = "{namespace}"

// hostAllowed returns a condition that one of the patterns in a list covers all hosts of a pattern. In the list,
// {namespace} is the namespace of the object. A namespace is always a DNS label.
func hostAllowed(pattern string, list []string) string {
	var fixed, templates, ofNamespace []string
	for _, p := range list {
		if prefix, suffix, ok := strings.Cut(p, namespacePlaceholder); ok {
			templates = append(templates, p)
			ofNamespace = append(ofNamespace, str(prefix)+"+request.namespace+"+str(suffix))
		} else {
			fixed = append(fixed, p)
		}
	}
	var conditions []string
	if len(fixed) > 0 {
		conditions = append(conditions, covering(pattern, fixed)+".exists(wider,wider in "+set(fixed)+")")
	}
	if len(templates) > 0 {
		conditions = append(conditions, cel("[[$list]].exists(allowed,$covering.exists(wider,wider in allowed))",
			"$list", strings.Join(ofNamespace, ","), "$covering", covering(pattern, templates)))
	}
	return anyOf(conditions...)
}

// hostDenied returns a condition that one of the patterns in a list covers a host of a pattern. It does the same as
// Find of HostOverlaps in policy/internal/match.
func hostDenied(pattern string, list []string) string {
	var parents, above []string // of hosts and of all patterns in the list
	for _, p := range list {
		name := strings.TrimPrefix(strings.TrimLeft(p, "*"), ".")
		if strings.HasPrefix(p, "*") {
			above = append(above, name)
		} else {
			parents = append(parents, parentHost(name))
		}
		for n := parentHost(name); n != ""; n = parentHost(n) {
			above = append(above, n)
		}
	}
	return cel(`$pattern=='**'||$covering.exists(wider,wider in $list)||($pattern.startsWith('**.')
		?$pattern.substring(3) in $above:$pattern.startsWith('*.')&&$pattern.substring(2) in $parents)`,
		"$pattern", pattern, "$covering", covering(pattern, list), "$list", set(list), "$above", set(above),
		"$parents", set(parents))
}

// parentHost returns the part of a name after its first label.
func parentHost(name string) string {
	_, parent, _ := strings.Cut(name, ".")
	return parent
}
