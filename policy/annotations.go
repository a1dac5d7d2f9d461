package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy/internal/strict"
)

// annotationRules is the field annotations of ingresses and services entries. Upper and lower case differ in keys.
type annotationRules struct {
	// Denied lists keys that an object must not carry, * for any run of characters: ["example.com/*"].
	Denied []glob `yaml:"denied"`
	// Required lists annotations that an object must carry.
	Required []annotationRequirement `yaml:"required"`
	// Values lists what values must look like. It says nothing of objects without the annotation: Required does.
	Values []annotationValue `yaml:"values"`
	// DeniedValues lists what values must not look like.
	DeniedValues []annotationValue `yaml:"deniedValues"`
}

// annotationRequirement is an annotation that must be there: {key: example.com/team} or, with a regular expression
// that covers its whole value, {key: example.com/team, value: "[a-z]+"}.
type annotationRequirement struct {
	Key   annotationKey `yaml:"key,required"`
	Value *regex        `yaml:"value"` // absent: any value, also the empty one
}

// annotationValue is a regular expression for the whole value of some annotations:
// {key: "example.com/*", value: "true|false"}.
type annotationValue struct {
	Key   glob  `yaml:"key,required"` // * for any run of characters
	Value regex `yaml:"value,required"`
}

// annotationKey is the key of one annotation.
type annotationKey string

// UnmarshalText refuses a glob: which of the keys that it covers should be there?
func (k *annotationKey) UnmarshalText(text []byte) error {
	if s := string(text); s == "" || strings.Contains(s, "*") {
		return fmt.Errorf("%q is not the key of one annotation: write it out", s)
	}
	*k = annotationKey(text)
	return nil
}

// Validate implements strict.Validator.
func (a *annotationRules) Validate() error {
	errs := []error{
		refuseEmpty("denied", a.Denied),
		refuseEmpty("required", a.Required),
		refuseEmpty("values", a.Values),
		refuseEmpty("deniedValues", a.DeniedValues),
	}
	for _, q := range a.Required {
		if g, denied := matchAny(a.Denied, string(q.Key)); denied {
			errs = append(errs, strict.Fieldf("required", "%s is also denied, by %s: no object can pass", q.Key, g))
		}
	}
	return errors.Join(errs...)
}

// refuseEmpty returns an error for a list that is there but empty, where that would check nothing. A list of what is
// allowed is different: there [] means that nothing passes.
func refuseEmpty[T any](field string, list []T) error {
	if list == nil || len(list) > 0 {
		return nil
	}
	return strict.Fieldf(field, "[] checks nothing: leave the field out")
}

// annotationChecks compiles rules; nil rules give no checks.
func annotationChecks[T any, P object[T]](rules *annotationRules) []check[T] {
	if rules == nil {
		return nil
	}
	var checks []check[T]
	add := func(given bool, c check[Meta]) {
		if given {
			checks = append(checks, metaCheck[T, P]{c})
		}
	}
	add(rules.Denied != nil, annotationsDenied{rules.Denied})
	add(rules.Required != nil, annotationsRequired{rules.Required})
	add(rules.Values != nil, annotationsValues{rules.Values})
	add(rules.DeniedValues != nil, annotationsDeniedValues{rules.DeniedValues})
	return checks
}

// metaCheck asks a check of metadata of the metadata of any object.
type metaCheck[T any, P object[T]] struct{ of check[Meta] }

func (c metaCheck[T, P]) find(obj *T, r *report) { c.of.find(P(obj).meta(), r) }

// offendingKeys returns the keys of the annotations that offend, sorted: the same object always gets the same findings
// in the same order.
func offendingKeys(annotations map[string]string, offends func(key, value string) bool) []string {
	var keys []string
	for key, value := range annotations {
		if offends(key, value) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// annotationFinding is identified by key and value: a snippet that was tolerated is no licence for another one.
// Its sentence holds no more of the value than reason does.
func annotationFinding(check, key, value, reason string) Finding {
	return Finding{Check: check, Path: annotationPath(key), Reason: reason, Value: key + "=" + value}
}

func annotationPath(key string) string { return "metadata.annotations[" + strconv.Quote(key) + "]" }
