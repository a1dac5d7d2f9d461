package export

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// annotationFields returns the fields of the annotations block that are exported.
func annotationFields() known {
	return known{"denied": nil, "required": nil, "values": nil, "deniedValues": nil}
}

// annotationKeys returns an expression for the annotation keys of an object, sorted by name.
func annotationKeys(s side) string {
	return string(s) + ".metadata.?annotations.orValue({}).map(k,string(k)).sort()"
}

// annotationPath returns the path of an annotation in the form that users write.
func annotationPath(key string) string {
	const longest = 253 + 1 + 63 // of a key
	return "metadata.annotations[" + text.QuoteUpTo(longest, key) + "]"
}

// keyPath is an expression for the annotationPath of the variable k. The API server rejects longer keys.
const keyPath = "'metadata.annotations['+strings.quote(k)+']'"

// value returns an expression for the value of the annotation k.
func value(s side) string { return "string(" + string(s) + ".metadata.annotations[k])" }

// annotationChecks returns the checks of the annotations block, in the order of policy/annotations.go.
func annotationChecks(block policy.Fields) []check {
	var all []check
	if denied := texts(block["denied"]); len(denied) > 0 {
		all = append(all, check{id: "annotations.denied", faults: func(s side) string {
			by := "''"
			for _, g := range slices.Backward(denied) {
				by = globs(lowered(g), "k.lowerAscii()") + "?" + str(g) + ":" + by
			}
			keys := "variables.annotations" + s.suffix() + ".filter(k," + globs(lowered(denied...), "k.lowerAscii()") + ")"
			return keys + ".map(k," +
				fault(keyPath, "k+'='+"+value(s), "'is denied by '+("+by+")+'; remove it'") + ")"
		}})
	}
	if required, ok := block["required"].([]any); ok {
		all = append(all, check{id: "annotations.required",
			faults: func(s side) string { return requiredAnnotations(required, s) }})
	}
	if values, ok := block["values"].([]any); ok {
		all = append(all, check{id: "annotations.values", faults: func(s side) string {
			return annotationsWhere(values, s, false, quote(value(s))+"+' does not match '+b")
		}})
	}
	if values, ok := block["deniedValues"].([]any); ok {
		all = append(all, check{id: "annotations.deniedValues", faults: func(s side) string {
			return annotationsWhere(values, s, true, quote(value(s))+"+' matches '+b+', which is denied'")
		}})
	}
	return all
}

// lowered returns patterns for keys in lower case.
func lowered(patterns ...string) []string {
	lower := make([]string, len(patterns))
	for i, p := range patterns {
		lower[i] = strings.ToLower(p)
	}
	return lower
}

// requiredAnnotations returns the faults of required annotations. An absent annotation has the identity of an empty
// value, as in package policy.
func requiredAnnotations(required []any, s side) string {
	var lists []string
	for _, r := range required {
		fields, _ := r.(policy.Fields)
		key, _ := fields["key"].(string)
		regex, hasValue := fields["value"].(string)
		there := bind("a", string(s)+".metadata.?annotations.orValue({})", str(key)+" in a")
		says := "is required; set it"
		if hasValue {
			says += " to a value that matches " + regex
		}
		list := when("!("+there+")", str(annotationPath(key)), str(key+"="), str(says))
		if hasValue {
			v := "string(" + string(s) + ".metadata.annotations[" + str(key) + "])"
			wrong := when("!"+v+".matches("+str(whole([]string{regex}))+")", str(annotationPath(key)), str(key+"=")+"+"+v,
				quote(v)+"+"+str(" does not match "+regex))
			list = choose(there, wrong, list)
		}
		lists = append(lists, list)
	}
	return "(" + sum(lists...) + ")"
}

// annotationsWhere returns a fault for each annotation whose key has an expression that matches its value (or does
// not match it, if want is false). In why, b is the first such expression.
func annotationsWhere(values []any, s side, want bool, why string) string {
	first := "''"
	for _, v := range slices.Backward(values) {
		fields, _ := v.(policy.Fields)
		key, _ := fields["key"].(string)
		regex, _ := fields["value"].(string)
		matches := value(s) + ".matches(" + str(whole([]string{regex})) + ")"
		if !want {
			matches = "!" + matches
		}
		first = "(" + allOf(globs(lowered(key), "k.lowerAscii()"), matches) + ")?" + str(regex) + ":" + first
	}
	return "variables.annotations" + s.suffix() + ".map(k,{'k':k,'b':" + first + "}).filter(x,x.b!='').map(x," +
		bind("k", "x.k", bind("b", "x.b", fault(keyPath, "k+'='+"+value(s), why))) + ")"
}
