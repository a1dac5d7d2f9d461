// Package strict decodes YAML into Go structs and accepts nothing that it does not understand: an unknown or repeated
// field, a null, an alias or a value of the wrong type is an error that names file, line, column and field, and, for
// a misspelt field, the nearest one that exists.
//
// Struct fields are named by their yaml tag; "required" after the name makes a field mandatory; an embedded struct
// shares the fields of the one around it. A pointer or slice stays nil when its field is absent, and an empty list
// in the file becomes an empty slice, so that the two can be told apart. Scalars with rules of their own implement
// encoding.TextUnmarshaler; a struct with rules between its fields implements Validator; a field of type Pos is
// filled with the place where its struct begins.
package strict

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Validator is implemented by structs whose fields depend on each other. Validate is called when all fields have been
// decoded without an error; a FieldError, also one of several joined, points at its field. Of an embedded struct it is
// called only through the struct around it: promoted, or by the outer Validate.
type Validator interface{ Validate() error }

// Decode fills the struct that into points to. The error is of type Errors and tells everything that is wrong.
func (d Document) Decode(into any) error {
	dec := decoder{file: d.file}
	dec.value(d.root, "", reflect.ValueOf(into).Elem())
	if len(dec.errs) > 0 {
		return dec.errs
	}
	return nil
}

type decoder struct {
	file string
	errs Errors
}

func (d *decoder) pos(n *yaml.Node, path string) Pos {
	return Pos{File: d.file, Line: n.Line, Column: n.Column, Path: path}
}

func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	d.errs = append(d.errs, d.pos(n, path).Errorf(format, args...))
}

func (d *decoder) value(n *yaml.Node, path string, v reflect.Value) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fail(n, path, "anchors and aliases are not supported: write the value out")
		return
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		d.fail(n, path, "null is not a value: leave the field out to leave it unchecked, or write %s", example(v.Type()))
		return
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		d.text(n, path, u)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, path, v.Elem())
	case reflect.Struct:
		d.structure(n, path, v)
	case reflect.Slice:
		d.list(n, path, v)
	default:
		d.scalar(n, path, v)
	}
}

// text lets u speak first: what would be wrong in quotes too is told what would be right, not to be quoted.
func (d *decoder) text(n *yaml.Node, path string, u encoding.TextUnmarshaler) {
	if n.Kind == yaml.ScalarNode {
		if err := u.UnmarshalText([]byte(n.Value)); err != nil {
			d.fail(n, path, "%v", err)
			return
		}
	}
	d.want(n, path, "a string", yaml.ScalarNode, "!!str")
}

func (d *decoder) scalar(n *yaml.Node, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if d.want(n, path, "a string", yaml.ScalarNode, "!!str") {
			v.SetString(n.Value)
		}
	case reflect.Bool:
		if d.want(n, path, "true or false", yaml.ScalarNode, "!!bool") {
			d.boolean(n, path, v)
		}
	case reflect.Int:
		if !d.want(n, path, "a whole number", yaml.ScalarNode, "!!int") {
			return
		}
		i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if err != nil {
			d.fail(n, path, "want a whole number, got %s", n.Value)
			return
		}
		v.SetInt(i)
	default:
		panic(fmt.Sprintf("strict: cannot decode into %s", v.Type()))
	}
}

// boolean checks the word too: a tag can call any word a boolean.
func (d *decoder) boolean(n *yaml.Node, path string, v reflect.Value) {
	switch strings.ToLower(n.Value) {
	case "true", "false":
		v.SetBool(strings.EqualFold(n.Value, "true"))
	default:
		d.fail(n, path, "want true or false, got %q", n.Value)
	}
}

func (d *decoder) list(n *yaml.Node, path string, v reflect.Value) {
	if !d.want(n, path, "a list", yaml.SequenceNode, "") {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
	}
}

func (d *decoder) structure(n *yaml.Node, path string, v reflect.Value) {
	if !d.want(n, path, "a mapping", yaml.MappingNode, "") {
		return
	}
	before := len(d.errs)
	fields := fieldsOf(v, d.pos(n, path))
	seen := map[string]*yaml.Node{}
	for key, value := range d.entries(n, path) {
		f, ok := fields.byName[key.Value]
		if !ok {
			d.fail(key, join(path, key.Value), "unknown field%s", suggest(key.Value, fields.names))
			continue
		}
		seen[key.Value] = value
		d.value(value, join(path, key.Value), f.value)
	}
	for _, name := range fields.names {
		if fields.byName[name].required && seen[name] == nil {
			d.fail(n, path, "%s is required", name)
		}
	}
	if len(d.errs) > before {
		return
	}
	if val, ok := reflect.TypeAssert[Validator](v.Addr()); ok {
		d.validation(n, path, seen, val.Validate())
	}
}

// validation files what a Validate method found under the fields that it names.
func (d *decoder) validation(n *yaml.Node, path string, seen map[string]*yaml.Node, err error) {
	var joined interface{ Unwrap() []error }
	var field FieldError
	switch {
	case err == nil:
	case errors.As(err, &joined):
		for _, e := range joined.Unwrap() {
			d.validation(n, path, seen, e)
		}
	case errors.As(err, &field) && seen[field.Field] != nil:
		d.fail(seen[field.Field], join(path, field.Field), "%s", field.Msg)
	default:
		d.fail(n, path, "%v", err)
	}
}

// entries yields the pairs of a mapping and refuses keys that stand twice or are not strings.
func (d *decoder) entries(n *yaml.Node, path string) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		first := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch line, again := first[key.Value]; {
			case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
				d.fail(key, path, "want a field name, got %s", describe(key))
			case again:
				d.fail(key, join(path, key.Value), "stands twice, first in line %d", line)
			default:
				first[key.Value] = key.Line
				if !yield(key, value) {
					return
				}
			}
		}
	}
}

func (d *decoder) want(n *yaml.Node, path, what string, kind yaml.Kind, tag string) bool {
	if n.Kind == kind && (tag == "" || n.ShortTag() == tag) {
		return true
	}
	hint := ""
	if tag == "!!str" && n.Kind == yaml.ScalarNode {
		hint = ": put it in quotes"
	}
	d.fail(n, path, "want %s, got %s%s", what, describe(n), hint)
	return false
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	switch n.ShortTag() {
	case "!!str":
		return strconv.Quote(n.Value)
	case "!!merge":
		return "a merge key, which is not supported"
	}
	return n.Value
}

func example(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list (the empty one is [])"
	case reflect.Struct:
		return "its fields"
	case reflect.Pointer:
		return example(t.Elem())
	}
	return "a value"
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}
