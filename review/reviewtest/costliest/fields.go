package costliest

import (
	"fmt"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
)

// field is a place in a review that the decoder reads, such as request.object.spec.containers[].image.
type field struct {
	Path string
	Type fieldType
}

// fieldType is the type of a field.
type fieldType int

// The types of the fields that affect decisions.
const (
	textual fieldType = iota
	numeric
	boolean // true or false
	mapping // string keys and string values
)

// object reports whether the field is in the object, which a tenant writes, and not in the rest of the review.
func (f field) object() bool { return strings.HasPrefix(f.Path, objectPath) }

const objectPath = "request.object."

// fields returns the fields that affect decisions, in the order of Kubernetes' types. A field is included if the
// decoder returns an error when it has the wrong type.
func (k kind) fields() (all []field) {
	add := func(f field) {
		if k.reads(f) {
			all = append(all, f)
		}
	}
	k.walk(reflect.TypeFor[admissionv1.AdmissionReview](), "", func(f field) {
		switch f.Path {
		case "request.object":
			k.walk(k.of, f.Path, add)
		case "request.oldObject": // it is read like object
		default:
			add(f)
		}
	})
	return all
}

// reads reports whether the decoder returns an error for a field of the wrong type.
func (k kind) reads(f field) bool {
	wrong := []raw{`5`, `[5]`}
	if f.Type == numeric {
		wrong[0] = `"x"`
	}
	for _, value := range wrong {
		if _, err := k.decode([]byte(k.sent.with(f.Path, value))); err != nil {
			return true
		}
	}
	return false
}

// walk calls visit for each JSON field of a value of type t that does not contain other fields. It skips fields within
// a field that the decoder does not read. path is empty for a whole review.
func (k kind) walk(t reflect.Type, path string, visit func(field)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	of, isLeaf := leaf(t)
	switch {
	case isLeaf:
		visit(field{path, of})
	case t.Kind() == reflect.Slice:
		k.walk(t.Elem(), path+"[]", visit)
	case t.Kind() != reflect.Struct:
		panic(fmt.Sprintf("costliest: %s is a %s", path, t))
	case path == "" || k.reads(field{Path: path}):
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-":
			case name == "" && f.Anonymous:
				k.walk(f.Type, path, visit)
			case name != "":
				k.walk(f.Type, strings.TrimPrefix(path+"."+name, "."), visit)
			}
		}
	}
}

// leaf returns the type of a field of type t, and reports whether its JSON does not contain other fields.
func leaf(t reflect.Type) (of fieldType, isLeaf bool) {
	switch t.Name() {
	case "Time", "MicroTime", "Quantity":
		return textual, true
	case "IntOrString":
		return numeric, true
	case "RawExtension", "FieldsV1":
		return mapping, true
	}
	of, isLeaf = map[reflect.Kind]fieldType{
		reflect.String: textual, reflect.Bool: boolean, reflect.Map: mapping, reflect.Int: numeric, reflect.Int32: numeric,
		reflect.Int64: numeric,
	}[t.Kind()]
	return of, isLeaf
}
