package export

import (
	"strings"

	"github.com/evergate/evergate/policy"
)

// selector is the translation of match or exclude for the objects of one kind.
type selector struct {
	dimensions []string // the supported fields, except images
	classes    string   // an expression for the list of the classes of an object
}

// takeMatch takes the fields of match and returns a condition that it covers an object. Each field has to cover it.
func (s selector) takeMatch(block policy.Fields) string { return allOf(s.take(block, false)...) }

// takeExclude takes the fields of exclude and returns a condition that it does not cover an object. The condition is
// empty if exclude does not have any fields. It ignores images, which select single images.
func (s selector) takeExclude(block policy.Fields) string {
	if conditions := s.take(block, true); len(conditions) > 0 {
		return "!(" + anyOf(conditions...) + ")"
	}
	return ""
}

func (s selector) take(block policy.Fields, excludes bool) (conditions []string) {
	take(block, "reason")
	for _, d := range s.dimensions {
		if patterns, ok := takeTexts(block, d); ok {
			conditions = append(conditions, s.condition(d, patterns, excludes))
		}
	}
	return conditions
}

// condition returns a condition that an object matches one of the patterns of a field.
func (s selector) condition(field string, patterns []string, excludes bool) string {
	switch field {
	case "namespaces":
		return globs(patterns, "request.namespace")
	case "users":
		return globs(patterns, "request.userInfo.?username.orValue('')")
	case "groups":
		return "request.userInfo.?groups.orValue([]).exists(group," + globs(patterns, "group") + ")"
	case "podLabels", "labels":
		return hasLabel(patterns)
	}
	covered := globs(patterns, "class")
	switch {
	case excludes: // if an object has two classes, the class that is not excluded may be active
		return cel("[$classes.filter(class,class!='')].map(classes,size(classes)>0&&classes.all(class,$covered))[0]",
			"$classes", s.classes, "$covered", covered)
	case field == "gatewayClassNames": // a ListenerSet does not have a class
		covered = "class==''||" + covered
	default:
		covered = "class!=''&&(" + covered + ")"
	}
	return s.classes + ".exists(class," + covered + ")"
}

// hasLabel returns a condition that an object has one of some labels.
func hasLabel(patterns []string) string {
	var conditions []string
	for _, p := range patterns {
		key, value, hasValue := strings.Cut(p, "=")
		label := "object.metadata.?labels[?" + str(key) + "]"
		if hasValue {
			conditions = append(conditions, label+".optMap(value,"+globs([]string{value}, "value")+").orValue(false)")
		} else {
			conditions = append(conditions, label+".hasValue()")
		}
	}
	return anyOf(conditions...)
}
