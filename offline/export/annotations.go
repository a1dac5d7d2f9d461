package export

import (
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// annotationValue returns an expression for the value of an annotation. It is empty if the annotation is absent.
func annotationValue(key string) string {
	return "object.metadata.?annotations[?" + str(key) + "].orValue('')"
}

// annotationPath returns the path of an annotation in the form that users write.
func annotationPath(key string) string {
	const longest = 253 + 1 + 63 // of a key
	return "metadata.annotations[" + text.QuoteUpTo(longest, key) + "]"
}

// annotationField is a field with annotations that a check reads.
type annotationField struct {
	path string // metadata.annotations
	keys string // an expression for the sorted keys
	mark string // before the identities of annotations; no key begins with it
}

func metadataAnnotations() annotationField {
	return annotationField{path: "metadata.annotations", keys: "variables.annotations"}
}

// infrastructureAnnotations is the field of a Gateway whose annotations its controller puts on a Service.
func infrastructureAnnotations() annotationField {
	return annotationField{"spec.infrastructure.annotations",
		"object.spec.?infrastructure.?annotations.orValue({}).map(key,string(key)).sort()", "^"}
}

// value is an expression for the value of the annotation key.
func (f annotationField) value() string { return "object." + f.path + "[key]" }

// faults returns an expression for a fault of each annotation, key, that meets a condition. more is the value that the
// sentences show, if they show one.
func (f annotationField) faults(condition string, more ...string) string {
	return cel("$keys.filter(key,$condition).map(key,$fault)", "$keys", f.keys, "$condition", condition,
		"$fault", fault("'"+f.path+"['+strings.quote(key)+']'", "'"+f.mark+"'+key+'='+"+f.value(), more...))
}

const requiredHint = "is required, with an allowed value"

// annotationChecks returns the checks of the annotations block, in the order of policy/annotations.go. Except for
// solvers, annotations in other fields take effect in addition to metadata.annotations.
func annotationChecks(others ...annotationField) []check {
	each := func(field, hint string, faults func(f annotationField, value any) string) check {
		return of(field, hint, func(value any) string {
			lists := []string{faults(metadataAnnotations(), value)}
			for _, f := range others {
				lists = append(lists, faults(f, value))
			}
			return strings.Join(lists, "+")
		})
	}
	required := of("annotations.required", requiredHint, func(required any) string {
		return requiredAnnotations(required, others...)
	})
	required.unlessSolvers = true
	return []check{
		each("annotations.denied", "is denied", func(f annotationField, keys any) string {
			return f.faults(globs(lowered(texts(keys)...), "key.lowerAscii()"))
		}),
		required,
		each("annotations.values", notAllowed, func(f annotationField, list any) string {
			return f.valueFaults(list, "!")
		}),
		each("annotations.deniedValues", "is denied", func(f annotationField, list any) string {
			return f.valueFaults(list, "")
		}),
	}
}

// lowered returns patterns for keys in lower case.
func lowered(patterns ...string) []string {
	lower := make([]string, len(patterns))
	for i, p := range patterns {
		lower[i] = strings.ToLower(p)
	}
	return lower
}

// valueFaults returns an expression for a fault of each annotation for which an element of a list has a pattern for the
// key and an expression that matches the value, or does not match it if not is an exclamation mark. A pattern with a
// wildcard leaves out the annotation of kubectl apply.
func (f annotationField) valueFaults(list any, not string) string {
	var conditions []string
	for _, element := range blocks(list) {
		key, regex := keyAndValue(element)
		of := globs(lowered(key), "key.lowerAscii()")
		if strings.Contains(key, "*") {
			of = allOf(of, "key!="+str(policy.LastApplied))
		}
		conditions = append(conditions, allOf(of, "("+tooLong(f.value())+"||"+not+matchesWhole(f.value(), regex)+")"))
	}
	return f.faults(anyOf(conditions...), f.value())
}

// keyAndValue returns the key of an element, and its regular expression or an empty string.
func keyAndValue(fields policy.Fields) (key, value string) {
	key, _ = fields["key"].(string)
	value, _ = fields["value"].(string)
	return key, value
}

// requiredAnnotations returns an expression for the faults of required annotations. An absent annotation has the
// identity of an empty value, as in package policy. In the other fields, an annotation may be absent.
func requiredAnnotations(required any, others ...annotationField) string {
	var lists []string
	for _, r := range blocks(required) {
		key, regex := keyAndValue(r)
		value := "object.metadata.?annotations[?" + str(key) + "]"
		passes := value + ".hasValue()"
		if regex != "" {
			const text = "string(value)"
			passes = value + ".optMap(value,!" + tooLong(text) + "&&" + matchesWhole(text, regex) + ").orValue(false)"
		}
		lists = append(lists, "("+oneFault("!"+passes, annotationPath(key), str(key+"=")+"+"+value+".orValue('')")+")")
		for _, f := range others {
			if regex != "" {
				fails := "key==" + str(key) + "&&(" + tooLong(f.value()) + "||!" + matchesWhole(f.value(), regex) + ")"
				lists = append(lists, f.faults(fails, f.value()))
			}
		}
	}
	return strings.Join(lists, "+")
}
