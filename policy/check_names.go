package policy

import (
	"reflect"
	"slices"
	"strings"

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
