package policy

import (
	"iter"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
)

// classNameRules is the classNames field of an ingresses entry. An Ingress sets its class in spec.ingressClassName or
// in the older annotation kubernetes.io/ingress.class. The rules apply to whichever is set. If both are set, they must
// be equal, because controllers differ in which one they use (check classNames.contradiction).
type classNameRules struct {
	// Required: true means that an Ingress must set a class. The default class of the cluster is not enough.
	Required bool `yaml:"required"`
	// Allowed lists the classes that pass, for example [internal, "public-*"]. A * matches any run of characters. An
	// Ingress without a class passes. To deny it, see required. [] means that no class passes.
	Allowed []match.Glob `yaml:"allowed"`
}

func (c *classNameRules) Validate() error { return rule.RejectNone(c.checks(), "required or allowed") }

func (c *classNameRules) checks() []rule.Check[ingressView] {
	passing, required := rule.Passing(c.Allowed), "; set one"
	if c.Allowed != nil {
		required = passing
	}
	return rule.Checks(
		rule.When(c.Required, classNamesRequired{required}),
		rule.When(c.Allowed != nil, classNamesAllowed{c.Allowed, passing}),
		rule.When(c.Required || c.Allowed != nil, classNamesContradiction{}),
	)
}

const (
	classAnnotation = "kubernetes.io/ingress.class"
	classField      = "spec.ingressClassName"
)

// classNames yields the path of the field and the class for each class that is set on the Ingress. It skips empty
// classes.
func (ing *ingressView) classNames() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if ing.ClassName != nil && *ing.ClassName != "" && !yield(classField, *ing.ClassName) {
			return
		}
		if name := ing.Annotations[classAnnotation]; name != "" {
			yield(annotationPath(classAnnotation), name)
		}
	}
}

// Classes returns the class in the field and the class in the annotation.
func (ing *ingressView) Classes() [2]string {
	c := [2]string{1: ing.Annotations[classAnnotation]}
	if ing.ClassName != nil {
		c[0] = *ing.ClassName
	}
	return c
}

// classNamesRequired is classNames.required. It finds an Ingress that does not set a class in either place.
type classNamesRequired struct {
	passing string // the end of its sentences
}

func (c classNamesRequired) Find(ing *ingressView, r *rule.Recorder) {
	for range ing.classNames() {
		return
	}
	r.Add(rule.Identity{Check: "classNames.required"}, classField, "no class is set"+c.passing)
}

// classNamesAllowed is classNames.allowed. It finds each class in spec.ingressClassName or in the annotation that no
// pattern matches.
type classNamesAllowed struct {
	patterns []match.Glob
	passing  string // the end of its sentences
}

func (c classNamesAllowed) Find(ing *ingressView, r *rule.Recorder) {
	for path, name := range ing.classNames() {
		if !r.Spend(rule.StepsOf(len(c.patterns), name)) {
			return
		}
		if _, ok := match.FirstGlob(c.patterns, name); !ok {
			r.Add(rule.Identity{Check: "classNames.allowed", Value: name}, path,
				text.Quote(name)+" is not allowed"+c.passing)
		}
	}
}

// contradictionCheck is the name of a check that does not have a field in the policy.
const contradictionCheck = "classNames.contradiction"

// classNamesContradiction is classNames.contradiction. It finds an Ingress whose annotation and spec have different
// classes. The API server rejects a CREATE with both, but accepts an UPDATE that adds the second one.
type classNamesContradiction struct{}

func (classNamesContradiction) Find(ing *ingressView, r *rule.Recorder) {
	var first string
	for path, name := range ing.classNames() {
		if first == "" {
			first = name
		} else if name != first {
			r.Add(rule.Identity{Check: contradictionCheck, Value: first, Detail: name}, path,
				text.Quote(name)+" contradicts "+classField+", which is "+text.Quote(first)+"; remove the annotation")
		}
	}
}
