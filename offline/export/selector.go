package export

import (
	"strings"

	"github.com/evergate/evergate/policy"
)

// side is the name of one of the two objects of an update in expressions.
type side string

// The current object, and the object before the update.
const (
	now    side = "object"
	before side = "oldObject"
)

// suffix returns the suffix of the names of variables about the object.
func (s side) suffix() string {
	if s == before {
		return "_before"
	}
	return ""
}

// dimensions returns the fields of match and exclude that selects translates. The field images applies to single
// images and is not included.
func dimensions() []string {
	return []string{"namespaces", "users", "groups", "podLabels", "labels", "classNames", "loadBalancerClasses",
		"gatewayClassNames"}
}

// selects returns a condition that an entry applies to an object.
func selects(e *policy.Entry, s side, classes string) string {
	match, exclude := blockOf(e, "match"), blockOf(e, "exclude")
	var conditions, excluded []string
	if kinds := texts(e.Fields["kinds"]); len(kinds) > 0 {
		conditions = append(conditions, "request.resource.resource in "+set(resourcesOf(kinds)))
	}
	for _, d := range dimensions() {
		if patterns, ok := match[d]; ok {
			conditions = append(conditions, dimension(d, texts(patterns), s, classes, false))
		}
		if patterns, ok := exclude[d]; ok {
			excluded = append(excluded, dimension(d, texts(patterns), s, classes, true))
		}
	}
	if len(excluded) > 0 {
		conditions = append(conditions, "!("+anyOf(excluded...)+")")
	}
	return allOf(conditions...)
}

// dimension returns a condition that an object matches one of the patterns of a dimension.
func dimension(name string, patterns []string, s side, classes string, excludes bool) string {
	switch name {
	case "namespaces":
		return globs(patterns, "request.namespace")
	case "users":
		return globs(patterns, "request.userInfo.?username.orValue('')")
	case "groups":
		return "request.userInfo.?groups.orValue([]).exists(g," + globs(patterns, "g") + ")"
	case "podLabels", "labels":
		return labels(patterns, s)
	}
	// If an object has two classes, the class that is not excluded may be active.
	if excludes {
		return bind("c", classes+".filter(c,c!='')", "size(c)>0&&c.all(c,"+globs(patterns, "c")+")")
	}
	matched := classes + ".exists(c,c!=''&&(" + globs(patterns, "c") + "))"
	if name == "gatewayClassNames" { // a ListenerSet does not have a class
		return classes + ".all(c,c=='')||" + matched
	}
	return matched
}

// labels returns a condition that an object has one of the given labels.
func labels(patterns []string, s side) string {
	var conditions []string
	for _, p := range patterns {
		key, value, hasValue := strings.Cut(p, "=")
		condition := str(key) + " in l"
		if hasValue {
			condition += "&&" + globs([]string{value}, "l["+str(key)+"]")
		}
		conditions = append(conditions, condition)
	}
	return bind("l", string(s)+".metadata.?labels.orValue({})", anyOf(conditions...))
}

// texts returns a list of strings.
func texts(v any) []string {
	list, _ := v.([]any)
	all := make([]string, 0, len(list))
	for _, element := range list {
		text, _ := element.(string)
		all = append(all, text)
	}
	return all
}

// blockOf returns the fields in a field of an entry, or nil if the entry does not have the field.
func blockOf(e *policy.Entry, name string) policy.Fields {
	fields, _ := e.Fields[name].(policy.Fields)
	return fields
}

// imagesOf returns the patterns of exclude.images.
func imagesOf(e *policy.Entry) []string { return texts(blockOf(e, "exclude")["images"]) }
