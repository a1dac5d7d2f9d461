package policy

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/internal/unique"
)

// checkNames returns the names that checks can have, sorted. The name of a check follows the slash in the ID of a
// finding. It is an entry field, a field of such a field, or the name of a check without a field.
func checkNames() []string {
	names := []string{rule.OwnersCheck, unique.Check, contradictionCheck}
	for block := range reflect.TypeFor[blocks]().Fields() {
		for field, typ := range yamlFields(block.Type.Elem()) {
			names = append(names, field)
			for inner := range yamlFields(typ) {
				names = append(names, field+"."+inner)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckID returns an error if the rule of id is not an active entry of the policy, or if no rule has the check of id.
// An id has the form web/hosts.allowed. The error suggests the nearest name.
func (p *Policy) CheckID(id string) error {
	rule, check, _ := strings.Cut(id, "/")
	var rules []string
	for _, e := range p.places {
		if e.Block != "exceptions" {
			rules = append(rules, e.Name)
		}
	}
	if !slices.Contains(rules, rule) {
		return unknownName("the policy has no active rule "+text.Name(rule), rule, rules)
	}
	checks := append(checkNames(), "mirrors")
	if !slices.Contains(checks, check) {
		return unknownName("no rule has a check "+text.Name(check), check, checks)
	}
	return nil
}

func unknownName(problem, unknown string, known []string) error {
	if nearest := text.Nearest(unknown, known); nearest != "" {
		problem += "; did you mean " + nearest + "?"
	}
	return errors.New(problem)
}

// yamlFields yields the fields of a struct as policies write them. For a pointer or a list, it yields the fields of its
// element type. It does not yield anything for other types.
func yamlFields(t reflect.Type) func(yield func(string, reflect.Type) bool) {
	return func(yield func(string, reflect.Type) bool) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case f.Type == reflect.TypeFor[strict.Pos]() || name == "-":
			case f.Anonymous && name == "":
				for inner, typ := range yamlFields(f.Type) {
					if !yield(inner, typ) {
						return
					}
				}
			case name != "":
				if !yield(name, f.Type) {
					return
				}
			}
		}
	}
}
