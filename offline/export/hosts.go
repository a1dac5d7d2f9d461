package export

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// The checks of policy/internal/claim/rules.go. They check claims: see host_claims.go.

// LargestIngress is the largest number of hosts in an Ingress for which the API server can evaluate all checks of
// hosts, even if every host is denied. A test in the module equivalence verifies it.
const LargestIngress = 200

// hostFields returns the exported fields of the hosts block for kinds that have hosts only in annotations.
func hostFields() known {
	return known{"allowed": nil, "denied": nil, "wildcards": nil, "max": nil}
}

// fieldHostFields returns the exported fields of the hosts block for kinds that also have hosts in fields.
func fieldHostFields() known {
	fields := hostFields()
	fields["required"] = nil
	return fields
}

// hostChecks returns the checks of the hosts block, in the order of policy/internal/claim/rules.go. claims is the name
// of the variable with the claims, and list is the field with the hosts.
func hostChecks(block policy.Fields, claims, list string) []check {
	var all []check
	add := func(id, fails, why string) {
		all = append(all, check{id: id, known: hostKnown, faults: func(s side) string {
			return claimFaults("variables."+claims+s.suffix(), fails, why)
		}})
	}
	if block["required"] != nil {
		add("hosts.required", "h.p=='**'", everyHost()+"+"+setOne())
	}
	if allowed, ok := block["allowed"].([]any); ok {
		end := str(passing(texts(allowed)))
		if strings.Contains(end, namespacePlaceholder) {
			end += ".replace(" + str(namespacePlaceholder) + ",request.namespace)"
		}
		add("hosts.allowed", "!("+hostAllowed(texts(allowed))+")",
			"(h.p=='**'?"+everyHost()+":"+quotedHost()+"+' is not allowed')+"+end)
	}
	if denied := texts(block["denied"]); len(denied) > 0 {
		by := deniedHosts(denied)
		add("hosts.denied", "size("+by+")>0", bind("d", by, "h.p=='**'?"+everyHost()+"+"+
			str(", including the denied "+denied[0])+"+"+
			setOne()+":d[0]=='below'?"+quotedHost()+"+' also covers the denied '+d[1]+'; write each host out':"+
			quotedHost()+"+' is denied by '+d[1]"))
	}
	if block["wildcards"] != nil {
		add("hosts.wildcards", "h.p.startsWith('*')", "h.p=='**'?"+everyHost()+"+'; write each host out':"+
			quotedHost()+"+' is a wildcard, which is denied; write each host out'")
	}
	if most, ok := block["max"].(string); ok {
		all = append(all, maxHosts(most, claims, list))
	}
	return all
}

// maxHosts returns the check of hosts.max. A larger number than before is a new finding.
func maxHosts(most, claims, list string) check {
	return check{
		id: "hosts.max",
		faults: func(s side) string {
			all := "variables." + claims + s.suffix()
			different := "size(" + all + ")<=" + most + "?0:size(" + all + ".map(h,h.p.startsWith('**.')?h.p.substring(1):h.p)" +
				".distinct())"
			return bind("n", different, when("n>"+most, str(list), "string(n)",
				"'has '+string(n)+"+str(" different hosts; at most "+most+" are allowed")))
		},
		known: "o.exists(k,int(k)>=int(y.id))",
	}
}

// hostPatterns describes the patterns of a list, to reduce the necessary lookups.
type hostPatterns struct {
	one, deep bool // some patterns begin with *. or with **.
	every     bool // ** is in the list
}

func newHostPatterns(patterns []string) (p hostPatterns) {
	for _, s := range patterns {
		p.one = p.one || strings.HasPrefix(s, "*.")
		p.deep = p.deep || strings.HasPrefix(s, "**.")
		p.every = p.every || s == "**"
	}
	return p
}

// covering returns an expression for the possible patterns in a policy that cover all hosts of the claim h, the
// narrowest first: the claim itself, * before the parent of its first label, and ** before that parent and before all
// its parents.
func (p hostPatterns) covering() string {
	list := "[h.p]"
	if p.one {
		list += "+(h.p.startsWith('*')?[]:['*.'+q])"
	}
	if p.deep {
		list += "+" + bind("s", "q.split('.')", "lists.range(size(s)).map(k,'**.'+s.slice(k,size(s)).join('.'))")
	}
	if p.every {
		list += "+['**']"
	}
	if !p.one && !p.deep {
		return "(" + list + ")"
	}
	return bind("q", "h.p.contains('.')?h.p.substring(h.p.indexOf('.')+1):''", "("+list+")")
}

// hostAllowed returns a condition that one of the patterns covers all hosts of the claim h. In a pattern, {namespace}
// is the namespace of the object. A namespace is always a DNS label.
func hostAllowed(patterns []string) string {
	var fixed, templates []string
	for _, p := range patterns {
		if strings.Contains(p, namespacePlaceholder) {
			templates = append(templates, p)
		} else {
			fixed = append(fixed, p)
		}
	}
	if slices.Contains(fixed, "**") {
		return "true"
	}
	var conditions []string
	if len(fixed) > 0 {
		conditions = append(conditions, bind("m", set(fixed),
			"h.p in m||"+newHostPatterns(fixed).covering()+".exists(c,c in m)"))
	}
	if len(templates) > 0 {
		list := make([]string, len(templates))
		for i, t := range templates {
			before, after, _ := strings.Cut(t, namespacePlaceholder)
			list[i] = str(before) + "+request.namespace+" + str(after)
		}
		conditions = append(conditions, bind("m", "["+strings.Join(list, ",")+"]",
			newHostPatterns(templates).covering()+".exists(c,c in m)"))
	}
	return anyOf(conditions...)
}

// namespacePlaceholder is the label of a pattern that represents the namespace of the object.
const namespacePlaceholder = "{namespace}"

// deniedHosts returns an expression for a list with the kind of overlap between a pattern and the claim h, and that
// pattern. The list is empty if no pattern overlaps. It does the same as Find of HostOverlaps in policy/internal/match.
func deniedHosts(patterns []string) string {
	below, under := map[string]string{}, map[string]string{}
	var parents, above []string
	for _, p := range patterns {
		name := strings.TrimLeft(p, "*")
		name = strings.TrimPrefix(name, ".")
		wild := strings.HasPrefix(p, "*")
		for n := name; n != ""; n = parentHost(n) {
			if (n != name || wild) && under[n] == "" {
				under[n] = p
				above = append(above, n)
			}
		}
		if parent := parentHost(name); !wild && below[parent] == "" {
			below[parent] = p
			parents = append(parents, parent)
		}
	}
	overlaps := "h.p.startsWith('**.')?" + lookUp(above, under, "h.p.substring(3)") +
		":h.p.startsWith('*.')?" + lookUp(parents, below, "h.p.substring(2)") + ":[]"
	covered := bind("m", set(patterns), newHostPatterns(patterns).covering()+".filter(c,c in m)")
	return "(h.p=='**'?['every','']:" + bind("c", covered, "size(c)>0?['covered',c[0]]:("+overlaps+")") + ")"
}

// lookUp returns an expression for a list of the word below and the value of a key, or an empty list if the key does
// not exist.
func lookUp(keys []string, values map[string]string, key string) string {
	if len(keys) == 0 {
		return "[]"
	}
	pairs := make([]string, len(keys))
	for i, k := range keys {
		pairs[i] = str(k) + ":" + str(values[k])
	}
	return bind("b", "{"+strings.Join(pairs, ",")+"}", bind("k", key, "k in b?['below',b[k]]:[]"))
}

// parentHost returns the part of a name after its first label.
func parentHost(name string) string {
	_, parent, _ := strings.Cut(name, ".")
	return parent
}
