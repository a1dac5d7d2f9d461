package export

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// annotationValue returns an expression for the value of an annotation. It is empty if the annotation is absent.
func annotationValue(s side, key string) string {
	return string(s) + ".metadata.?annotations[?'" + key + "'].orValue('')"
}

// namesTLS returns a condition that spec.tls has a host or a Secret.
func namesTLS(s side) string {
	return string(s) + ".spec.?tls.orValue([]).exists(t,string(t.?secretName.orValue(''))!=''||" +
		"t.?hosts.orValue([]).exists(h,string(h)!=''))"
}

// plainClasses returns an expression for the classes of an Ingress whose controllers may serve plain HTTP.
func plainClasses(s side) string {
	served := "variables.namesTLS" + s.suffix()
	for _, c := range slices.Backward(policy.TLSClasses()) {
		ways := make([]string, len(c.Ways))
		for i, w := range c.Ways {
			ways[i] = tlsWay(s, w)
		}
		served = choose("c.class in "+set(c.Names), anyOf(ways...), served)
	}
	return "variables.classes" + s.suffix() + ".filter(c,!" + served + ")"
}

// tlsWay returns a condition that an Ingress is served only over TLS in this way.
func tlsWay(s side, w policy.TLSWay) string {
	var conditions []string
	if w.Carrier == policy.TLSInSpec {
		conditions = append(conditions, "variables.namesTLS"+s.suffix())
	}
	if w.Ports != "" {
		conditions = append(conditions, httpsOnly(s, w))
	}
	for _, a := range w.Annotations {
		passes := func(value string) string {
			if a.Values == nil {
				return value + ".matches(" + str(element) + ")"
			}
			return value + " in " + set(a.Values)
		}
		if suffix, anyPrefix := strings.CutPrefix(a.Key, "*"); anyPrefix {
			conditions = append(conditions, bind("a", string(s)+".metadata.?annotations.orValue({})",
				"a.all(k,!k.lowerAscii().endsWith("+str(suffix)+")||"+passes("string(a[k])")+")"))
		} else {
			conditions = append(conditions, passes(annotationValue(s, a.Key)))
		}
	}
	return allOf(conditions...)
}

// httpsOnly returns the condition httpsOnly of package policy.
func httpsOnly(s side, w policy.TLSWay) string {
	ports := annotationValue(s, w.Ports) + `.replace(' ','').replace('\t','').replace('\n','').replace('\r','')`
	const pair = `"HTTPS?":[1-9][0-9]{0,4}`
	list := `^\[\{` + pair + `(?:(?:,|\},\{)` + pair + `)*\}\]$`
	redirect := annotationValue(s, w.Redirect)
	redirected := bind("q", choose(redirect+"=='true'", "'443'", redirect), "q.matches('^[1-9][0-9]{0,4}$')&&"+
		`(n.contains('"HTTPS":'+q+',')||n.contains('"HTTPS":'+q+'}'))`)
	return "size(" + annotationValue(s, w.Ports) + ")<=" + number(policy.MaxListenPorts) + "&&" +
		bind("n", ports, "n.matches("+str(list)+`)&&(!n.contains('"HTTP":')||`+redirected+")")
}

// onlyTLS returns a condition that each class of an Ingress serves it only over TLS.
func onlyTLS(s side) string {
	return choose("size(variables.classes"+s.suffix()+")==0", "variables.namesTLS"+s.suffix(),
		"size(variables.plainClasses"+s.suffix()+")==0")
}

// tlsFault returns an expression for the sentence about an Ingress that may be served over plain HTTP. Its first class
// that may be served so determines the sentence.
func tlsFault(s side) string {
	named, classes := "variables.namesTLS"+s.suffix(), "variables.plainClasses"+s.suffix()
	unnamed := choose("size("+string(s)+".spec.?tls.orValue([]))==0", "'is not set, so plain HTTP may be served; set it'",
		"'has neither a host nor a Secret, so plain HTTP may be served; list the hosts in spec.tls[].hosts'")
	fix := "''"
	for _, c := range policy.TLSClasses() {
		one := str(c.Fix)
		if c.ReadsSpec() {
			one = choose(named, one, "''")
		}
		fix = choose("c[0].class in "+set(c.Names), one, fix)
	}
	return bind("c", classes, choose("size(c)==0", unnamed, bind("f", fix, choose("f==''", unnamed,
		"'is not enough for the class '+"+quote("c[0].class")+"+', so plain HTTP may be served; '+f"))))
}
