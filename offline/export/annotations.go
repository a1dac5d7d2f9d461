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

// annotationField is a field with annotations that a check reads.
type annotationField struct {
	name string            // metadata.annotations
	mark string            // before the identities of annotations; no key begins with it
	keys func(side) string // an expression for the sorted keys
}

func metadataAnnotations() annotationField {
	return annotationField{"metadata.annotations", "", func(s side) string { return "variables.annotations" + s.suffix() }}
}

// infrastructureAnnotations is the field of a Gateway whose annotations its controller puts on a Service.
func infrastructureAnnotations() annotationField {
	return annotationField{"spec.infrastructure.annotations", "^", func(s side) string {
		return string(s) + ".spec.?infrastructure.?annotations.orValue({}).map(k,string(k)).sort()"
	}}
}

// value returns an expression for the value of the annotation k.
func (f annotationField) value(s side) string { return "string(" + string(s) + "." + f.name + "[k])" }

// fault returns an expression for a fault of the annotation k. The API server rejects keys that are too long to quote.
func (f annotationField) fault(s side, why string) string {
	return fault("'"+f.name+"['+strings.quote(k)+']'", "'"+f.mark+"'+k+'='+"+f.value(s), why)
}

// annotationChecks returns the checks of the annotations block, in the order of policy/annotations.go. fields contain
// annotations that take effect in addition to metadata.annotations.
func annotationChecks(block policy.Fields, fields ...annotationField) []check {
	fields = append([]annotationField{metadataAnnotations()}, fields...)
	inFields := func(faults func(annotationField) string) string {
		lists := make([]string, len(fields))
		for i, f := range fields {
			lists[i] = faults(f)
		}
		return "(" + sum(lists...) + ")"
	}
	var all []check
	if denied := texts(block["denied"]); len(denied) > 0 {
		all = append(all, check{id: "annotations.denied", faults: func(s side) string {
			by := "''"
			for _, g := range slices.Backward(denied) {
				by = globs(lowered(g), "k.lowerAscii()") + "?" + str(g) + ":" + by
			}
			return inFields(func(f annotationField) string {
				return f.keys(s) + ".filter(k," + globs(lowered(denied...), "k.lowerAscii()") + ").map(k," +
					f.fault(s, "'is denied by '+("+by+")+'; remove it'") + ")"
			})
		}})
	}
	if required, ok := block["required"].([]any); ok {
		all = append(all, check{id: "annotations.required",
			faults: func(s side) string { return requiredAnnotations(required, s, fields[1:]) }})
	}
	if values, ok := block["values"].([]any); ok {
		all = append(all, check{id: "annotations.values", faults: func(s side) string {
			return inFields(func(f annotationField) string {
				return f.where(values, s, false)
			})
		}})
	}
	if values, ok := block["deniedValues"].([]any); ok {
		all = append(all, check{id: "annotations.deniedValues", faults: func(s side) string {
			return inFields(func(f annotationField) string {
				return f.where(values, s, true)
			})
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
// value, as in package policy. In the other fields, an annotation may be absent.
func requiredAnnotations(required []any, s side, others []annotationField) string {
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
			wrong := when(unmatched(v, regex), str(annotationPath(key)), str(key+"=")+"+"+v,
				valueFault(v, str(" does not match "+regex)))
			list = choose(there, wrong, list)
		}
		lists = append(lists, list)
		for _, f := range others {
			if hasValue {
				v := f.value(s)
				lists = append(lists, f.keys(s)+".filter(k,k=="+str(key)+"&&"+unmatched(v, regex)+").map(k,"+
					f.fault(s, valueFault(v, str(" does not match "+regex)))+")")
			}
		}
	}
	return "(" + sum(lists...) + ")"
}

// where returns a fault for each annotation whose key has an expression that matches its value, if denied, or does not
// match it. b is the first such expression.
func (f annotationField) where(values []any, s side, denied bool) string {
	first, value := "''", f.value(s)
	for _, v := range slices.Backward(values) {
		fields, _ := v.(policy.Fields)
		key, _ := fields["key"].(string)
		regex, _ := fields["value"].(string)
		fails := unmatched(value, regex)
		if denied {
			fails = "(" + tooLong(value) + "||" + matchesWhole(value, regex) + ")"
		}
		of := globs(lowered(key), "k.lowerAscii()")
		if strings.Contains(key, "*") {
			of = allOf(of, "k!="+str(policy.LastApplied))
		}
		first = "(" + allOf(of, fails) + ")?" + str(regex) + ":" + first
	}
	says := "' does not match '+b"
	if denied {
		says = "' matches '+b+', which is denied'"
	}
	return f.keys(s) + ".map(k,{'k':k,'b':" + first + "}).filter(x,x.b!='').map(x," +
		bind("k", "x.k", bind("b", "x.b", f.fault(s, valueFault(value, says)))) + ")"
}

// matchesWhole returns a condition that a regular expression matches a whole value.
func matchesWhole(value, regex string) string {
	return value + ".matches(" + str(whole([]string{regex})) + ")"
}

// tooLong returns a condition that a value is too long for a regular expression.
func tooLong(value string) string { return "size(" + value + ")>" + number(policy.MaxRegexValue) }

// unmatched returns a condition that a regular expression does not match a whole value, or that the value is too long.
func unmatched(value, regex string) string {
	return "(" + tooLong(value) + "||!" + matchesWhole(value, regex) + ")"
}

// valueFault returns the sentence about a value. end is an expression for its end, unless the value is too long.
func valueFault(value, end string) string {
	return quote(value) + "+" + choose(tooLong(value), str(saysTooLong), end)
}

// saysTooLong is the end of the sentence about a value that is too long for a regular expression.
const saysTooLong = " is too long: more than 1,024 characters, the limit for regular expressions"
