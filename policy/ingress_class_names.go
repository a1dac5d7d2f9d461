package policy

import (
	"iter"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// classNameRules is the field classNames of an ingresses entry. An Ingress names its class in spec.ingressClassName or
// in the older annotation kubernetes.io/ingress.class; the rules apply to whichever is set. Where both are set they
// must be equal, since controllers differ in which one they use (check classNames.contradiction).
type classNameRules struct {
	// Required: true means that an Ingress must name a class: the cluster's default does not suffice.
	Required bool `yaml:"required"`
	// Allowed lists the classes, * for any run of characters: [internal, "public-*"]. An Ingress without a class
	// passes: see Required. [] means that no class passes.
	Allowed []match.Glob `yaml:"allowed"`
}

// Validate implements strict.Validator.
func (c *classNameRules) Validate() error {
	if len(c.checks()) == 0 {
		return errNoCheck("required or allowed")
	}
	return nil
}

func (c *classNameRules) checks() []check[ingressView] {
	if c == nil {
		return nil
	}
	var checks []check[ingressView]
	if c.Required {
		checks = append(checks, classNamesRequired{c.passing("; set one")})
	}
	if c.Allowed != nil {
		checks = append(checks, classNamesAllowed{c.Allowed, c.passing("")})
	}
	if len(checks) > 0 {
		checks = append(checks, classNamesContradiction{})
	}
	return checks
}

// passing returns the end of the sentences: what would pass if the rules say so, otherwise the given words.
func (c *classNameRules) passing(otherwise string) string {
	if c.Allowed == nil {
		return otherwise
	}
	return passing(c.Allowed)
}

const (
	classAnnotation = "kubernetes.io/ingress.class"
	classField      = "spec.ingressClassName"
)

// classNames yields the classes that the Ingress names, each after its field. An empty class is none.
func (ing *Ingress) classNames() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if ing.ClassName != nil && *ing.ClassName != "" && !yield(classField, *ing.ClassName) {
			return
		}
		if name := ing.Annotations[classAnnotation]; name != "" {
			yield(annotationPath(classAnnotation), name)
		}
	}
}

// classes are those of the field and of the annotation.
func (ing *Ingress) classes() classes {
	c := classes{1: ing.Annotations[classAnnotation]}
	if ing.ClassName != nil {
		c[0] = *ing.ClassName
	}
	return c
}

// classNamesRequired is classNames.required: it finds an Ingress that names no class in either place.
type classNamesRequired struct {
	passing string // the end of its sentences
}

func (c classNamesRequired) find(ing *ingressView, r *report) {
	for range ing.classNames() {
		return
	}
	r.add(identity{check: "classNames.required"}, classField, "no class is set"+c.passing)
}

// classNamesAllowed is classNames.allowed: it finds each class that no pattern matches, in spec.ingressClassName and in
// the annotation.
type classNamesAllowed struct {
	patterns []match.Glob
	passing  string // the end of its sentences
}

func (c classNamesAllowed) find(ing *ingressView, r *report) {
	for path, name := range ing.classNames() {
		if !r.spend(stepsOf(len(c.patterns), name)) {
			return
		}
		if _, ok := match.FirstGlob(c.patterns, name); !ok {
			r.add(identity{check: "classNames.allowed", value: name}, path,
				text.Quote(name)+" is not allowed"+c.passing)
		}
	}
}

// contradictionCheck is the name of a check that is no field.
const contradictionCheck = "classNames.contradiction"

// classNamesContradiction is classNames.contradiction: it finds an Ingress whose annotation names another class than
// its spec. The API server rejects both on CREATE, but accepts an UPDATE that adds the other.
type classNamesContradiction struct{}

func (classNamesContradiction) find(ing *ingressView, r *report) {
	var first string
	for path, name := range ing.classNames() {
		if first == "" {
			first = name
		} else if name != first {
			r.add(identity{check: contradictionCheck, value: first, detail: name}, path,
				text.Quote(name)+" contradicts "+classField+", which is "+text.Quote(first)+"; remove the annotation")
		}
	}
}
