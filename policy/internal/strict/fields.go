package strict

import (
	"reflect"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// fields contains the fields of a struct that may occur in a file, including the fields of embedded structs.
type fields struct {
	names  []string // in the order of the struct, for messages
	byName map[string]field
}

type field struct {
	value    reflect.Value
	required bool
}

// fieldsOf returns the fields of v and sets the fields of type Pos.
func fieldsOf(v reflect.Value, pos func() Pos) fields {
	fs := fields{byName: map[string]field{}}
	fs.add(v, pos)
	return fs
}

func (fs *fields) add(v reflect.Value, pos func() Pos) {
	for i := range v.NumField() {
		f, fv := v.Type().Field(i), v.Field(i)
		tag, tagged := f.Tag.Lookup("yaml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Type == reflect.TypeFor[Pos]():
			fv.Set(reflect.ValueOf(pos()))
		case f.Anonymous && !tagged:
			fs.add(fv, pos)
		case name != "" && name != "-":
			fs.names = append(fs.names, name)
			fs.byName[name] = field{fv, options == "required"}
		}
	}
}

// suggest returns the end of the message about an unknown field. It contains the nearest known field, or all known
// fields if no field is similar.
func suggest(unknown string, known []string) string {
	if slices.Contains(known, "apiVersion") && (unknown == "spec" || unknown == "metadata") {
		kind := map[bool]string{true: "a suite", false: "a policy"}[slices.Contains(known, "cases")]
		return ": " + kind + " has no " + unknown + "; its blocks are at the top level"
	}
	if best := text.Nearest(unknown, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return "; known here: " + strings.Join(known, ", ")
}
