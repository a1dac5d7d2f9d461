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
				return f.where(values, s, false, quote(f.value(s))+"+' does not match '+b")
			})
		}})
	}
	if values, ok := block["deniedValues"].([]any); ok {
		all = append(all, check{id: "annotations.deniedValues", faults: func(s side) string {
			return inFields(func(f annotationField) string {
				return f.where(values, s, true, quote(f.value(s))+"+' matches '+b+', which is denied'")
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
			wrong := when("!"+v+".matches("+str(whole([]string{regex}))+")", str(annotationPath(key)), str(key+"=")+"+"+v,
				quote(v)+"+"+str(" does not match "+regex))
			list = choose(there, wrong, list)
		}
		lists = append(lists, list)
		for _, f := range others {
			if hasValue {
				lists = append(lists, f.keys(s)+".filter(k,k=="+str(key)+"&&!"+f.value(s)+".matches("+
					str(whole([]string{regex}))+")).map(k,"+f.fault(s, quote(f.value(s))+"+"+str(" does not match "+regex))+")")
			}
		}
	}
	return "(" + sum(lists...) + ")"
}

// where returns a fault for each annotation whose key has an expression that matches its value (or does not match it,
// if want is false). In why, b is the first such expression.
func (f annotationField) where(values []any, s side, want bool, why string) string {
	first := "''"
	for _, v := range slices.Backward(values) {
		fields, _ := v.(policy.Fields)
		key, _ := fields["key"].(string)
		regex, _ := fields["value"].(string)
		matches := f.value(s) + ".matches(" + str(whole([]string{regex})) + ")"
		if !want {
			matches = "!" + matches
		}
		first = "(" + allOf(globs(lowered(key), "k.lowerAscii()"), matches) + ")?" + str(regex) + ":" + first
	}
	return f.keys(s) + ".map(k,{'k':k,'b':" + first + "}).filter(x,x.b!='').map(x," +
		bind("k", "x.k", bind("b", "x.b", f.fault(s, why))) + ")"
}
