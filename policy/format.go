package policy

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/evergate/evergate/policy/internal/layout"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Format returns the text of a policy file with its fields in the order of the schema, indented by two spaces. Comments
// and values stay as they are written. The policy means the same, but has another Hash. Format returns an error for a
// file that does not load and for a text that cannot be formatted.
func Format(f File) ([]byte, error) {
	if _, err := Load(f); err != nil {
		return nil, err
	}
	text, err := layout.Format(f.Data, orderOf(reflect.TypeFor[document]()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if _, err := Load(File{Name: f.Name, Data: text}); err != nil {
		return nil, fmt.Errorf("%s: formatted, it would not load: %w", f.Name, err)
	}
	return text, nil
}

// orderOf returns the order of the fields of a type that policies are decoded into: the order of the
// struct, which is the order of the schema too.
func orderOf(t reflect.Type) *layout.Order {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	order := &layout.Order{Inner: map[string]*layout.Order{}}
	for name, field := range strict.FieldsOf(t) {
		order.Names = append(order.Names, name)
		order.Inner[name] = orderOf(field)
	}
	return order
}
