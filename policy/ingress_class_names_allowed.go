package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// classNamesAllowed is classNames.allowed: it finds each class that no pattern covers, be it in spec.ingressClassName
// or in the annotation.
type classNamesAllowed struct {
	patterns []match.Glob
	passing  string // the end of its sentences
}

func (c classNamesAllowed) find(ing *Ingress, r *report) {
	for path, name := range ing.classNames() {
		if !r.spend(stepsOf(len(c.patterns), name)) {
			return
		}
		if _, ok := match.FirstGlob(c.patterns, name); !ok {
			r.add(identity{check: "classNames.allowed", value: name}, path, text.Quote(name)+" is not allowed"+c.passing)
		}
	}
}
