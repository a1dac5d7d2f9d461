package policy

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// checkNames returns the names that checks can have, as findings have them after the slash: the fields of entries and
// the fields in these, and the names that are no fields.
func checkNames() []string {
	names := []string{ownersCheck, contradictionCheck}
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

// CheckID returns an error if id, as in web/hosts.allowed, names a rule that is not an active entry of the policy, or a
// check that no rule has. The error suggests the nearest name.
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

// unknownName returns an error that suggests the nearest of the known names.
func unknownName(problem, unknown string, known []string) error {
	if nearest := text.Nearest(unknown, known); nearest != "" {
		problem += "; did you mean " + nearest + "?"
	}
	return errors.New(problem)
}

// yamlFields yields the fields that a struct, or what a pointer or a list is of, has in policies. Other types have
// none.
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
