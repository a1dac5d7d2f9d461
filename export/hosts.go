package export

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// The checks of policy/hosts.go. What they judge are claims: see host_claims.go.

// LargestIngress is how many hosts an Ingress may have that all checks of its hosts judge, also where each is denied.
// The module interop tries it.
const LargestIngress = 200

// hostFields are the fields of hosts that are read, of kinds that have hosts in their annotations alone.
func hostFields() known {
	return known{"allowed": nil, "denied": nil, "wildcards": nil, "max": nil}
}

// fieldHostFields are those of kinds that have a field for hosts too.
func fieldHostFields() known {
	fields := hostFields()
	fields["required"] = nil
	return fields
}

// hostChecks returns the checks of the block hosts, in the order of policy/hosts.go. claims is the name of the variable
// of the claims, and list the field that has the hosts.
func hostChecks(block policy.Fields, claims, list string) []check {
	var all []check
	add := func(id, fails, why string) {
		c := check{id: id, faults: func(s side) string {
			return claimFaults("variables."+claims+s.suffix(), fails, why)
		}}
		if list == "spec.rules" { // of an Ingress, which alone has spec.tls
			c.known = hostKnown
		}
		all = append(all, c)
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
		add("hosts.denied", "size("+by+")>0", bind("d", by, "h.p=='**'?"+everyHost()+"+"+str(", also the denied "+denied[0])+
			"+"+
			setOne()+":d[0]=='below'?"+quotedHost()+"+' stands also for the denied '+d[1]+'; write each host out':"+
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
			different := "size(" + all + ")<=" + most + "?0:size(" + all + ".map(h,h.p).distinct())"
			return bind("n", different, when("n>"+most, str(list), "string(n)",
				"'has '+string(n)+"+str(" different hosts; at most "+most+" are allowed")))
		},
		known: "o.exists(k,int(k)>=int(y.id))",
	}
}

// hostPatterns are the patterns of a list by what has to be looked up for them.
type hostPatterns struct {
	one, deep bool // some begin with *., with **.
	every     bool // ** is one
}

func newHostPatterns(patterns []string) (p hostPatterns) {
	for _, s := range patterns {
		p.one = p.one || strings.HasPrefix(s, "*.")
		p.deep = p.deep || strings.HasPrefix(s, "**.")
		p.every = p.every || s == "**"
	}
	return p
}

// covering returns a list of the patterns that cover all hosts of the claim h, the narrowest first, of those that there
// may be in a policy: the claim itself, * in front of what is behind its first label, and ** in front of that and of
// all names above it.
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

// hostAllowed returns whether one of the patterns covers all hosts of the claim h. {namespace} in a pattern is the
// namespace of the object, which is a label: the API server has no others.
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

// namespacePlaceholder is the label of a pattern that stands for the namespace of the object.
const namespacePlaceholder = "{namespace}"

// deniedHosts returns a list of how a pattern overlaps the claim h, and of that pattern; an empty one where none does.
// It is what Find of HostOverlaps in policy/internal/match does.
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

// lookUp returns a list of the word below and the value of a key, or an empty one.
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

// parentHost returns what stands behind the first label of a name.
func parentHost(name string) string {
	_, parent, _ := strings.Cut(name, ".")
	return parent
}
