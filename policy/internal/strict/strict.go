// Package strict decodes YAML into Go structs. An unknown or repeated field, a null, an alias or a value of the wrong
// type is an error. The error contains the file, line, column and field. For a misspelt field, it also contains the
// nearest known field.
//
// The yaml tag of a struct field contains its name. The option "required" after the name makes the field mandatory. The
// fields of an embedded struct belong to the struct around it. A pointer or slice stays nil if its field is absent. An
// empty list in the file becomes an empty slice, which is not nil.
//
// Scalars with additional rules implement encoding.TextUnmarshaler. Structs with rules between their fields implement
// Validator. The decoder sets a field of type Pos to the position at which its struct begins.
package strict

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// Validator is implemented by structs whose fields depend on each other. Validate is called after all fields have been
// decoded without an error. A FieldError, including a FieldError in joined errors, is reported at its field. The
// Validate method of an embedded struct is called only through the struct around it: either as a promoted method or by
// the outer Validate.
type Validator interface{ Validate() error }

// Suggester is implemented by structs with a field whose type they share with other structs, if only some fields of
// that type are valid there. Suggest returns the valid fields. An error about an unknown field in that field suggests
// only these.
type Suggester interface{ Suggest(field string) []string }

// Dated is implemented by texts that may be dates. YAML reads a date without quotes as a timestamp, which is an error
// for other texts.
type Dated interface {
	encoding.TextUnmarshaler
	// Dated does nothing.
	Dated()
}

func (d *Decoder) value(n *yaml.Node, v reflect.Value) {
	if d.Stopped() {
		return
	}
	if d.ctx.Err() != nil {
		d.stopped = context.Cause(d.ctx)
		return
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fail(n, "anchors and aliases are not supported: write the value out")
		return
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		d.fail(n, "null is not a value: leave the field out to leave it unchecked, or write %s", example(v.Type()))
		return
	}
	if raw, ok := reflect.TypeAssert[*Raw](v.Addr()); ok {
		raw.node, raw.Pos = n, d.pos(n)
		return
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		d.text(n, u)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem())
	case reflect.Struct:
		d.structure(n, v)
	case reflect.Slice:
		d.list(n, v)
	case reflect.Map:
		d.words(n, v)
	default:
		d.scalar(n, v)
	}
}

// text decodes a text. The error of u comes first, because a value that is invalid even in quotes does not need the
// advice to quote it.
func (d *Decoder) text(n *yaml.Node, u encoding.TextUnmarshaler) {
	if n.Kind == yaml.ScalarNode {
		if !d.affords(n, u) {
			return
		}
		if err := u.UnmarshalText([]byte(n.Value)); err != nil {
			d.fail(n, "%v", err)
			return
		}
	}
	if _, dated := u.(Dated); dated && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" &&
		n.Style&yaml.TaggedStyle == 0 {
		return
	}
	d.want(n, "a string", yaml.ScalarNode, "!!str")
}

func (d *Decoder) scalar(n *yaml.Node, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if d.want(n, "a string", yaml.ScalarNode, "!!str") {
			v.SetString(n.Value)
		}
	case reflect.Bool:
		if d.want(n, "true or false", yaml.ScalarNode, "!!bool") {
			d.boolean(n, v)
		}
	case reflect.Int:
		if !d.want(n, "a whole number", yaml.ScalarNode, "!!int") {
			return
		}
		i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if err != nil {
			d.fail(n, "want a whole number, got %s", text.Truncate(n.Value, text.Short))
			return
		}
		v.SetInt(i)
	default:
		panic(fmt.Sprintf("strict: cannot decode into %s", v.Type()))
	}
}

// boolean also checks the word, because a tag can declare any word to be a boolean.
func (d *Decoder) boolean(n *yaml.Node, v reflect.Value) {
	switch strings.ToLower(n.Value) {
	case "true", "false":
		v.SetBool(strings.EqualFold(n.Value, "true"))
	default:
		d.fail(n, "want true or false, got %s", text.Quote(n.Value))
	}
}

func (d *Decoder) list(n *yaml.Node, v reflect.Value) {
	if !d.want(n, "a list", yaml.SequenceNode, "") {
		return
	}
	if len(d.path) == 1 { // a list at the top level of the document
		room := d.limits.Entries - d.elements
		if d.elements += len(n.Content); len(n.Content) > room {
			d.at(segment{index: room}, func() {
				d.exceed(d.pos(n.Content[room]), d.limits.tooMany(d.limits.Entries, "entries"))
			})
			return
		}
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.at(segment{index: i}, func() { d.value(item, v.Index(i)) })
	}
}

func (d *Decoder) structure(n *yaml.Node, v reflect.Value) {
	if !d.want(n, "a mapping", yaml.MappingNode, "") {
		return
	}
	before := d.errs.Len()
	fields := fieldsOf(v, func() Pos { return d.pos(n) })
	known := fields.names
	if d.suggested != nil {
		known, d.suggested = d.suggested, nil
	}
	suggester, _ := reflect.TypeAssert[Suggester](v.Addr())
	seen := map[string]*yaml.Node{}
	for key, value := range d.entries(n) {
		f, ok := fields.byName[key.Value]
		d.at(fieldSegment(key.Value), func() {
			if !ok {
				if d.errs.TryAdd() {
					d.errs.Add(d.pos(key).Errorf("unknown field%s", suggest(key.Value, known)))
				}
				return
			}
			seen[key.Value] = value
			if suggester != nil && value.Kind == yaml.MappingNode {
				d.suggested = suggester.Suggest(key.Value)
			}
			d.value(value, f.value)
			d.suggested = nil
		})
	}
	for _, name := range fields.names {
		if fields.byName[name].required && seen[name] == nil {
			d.fail(n, "%s is required", name)
		}
	}
	if d.errs.Len() > before || d.Stopped() {
		return
	}
	if val, ok := reflect.TypeAssert[Validator](v.Addr()); ok {
		d.validation(n, seen, val.Validate())
	}
}

// validation adds the errors of a Validate method, each at its field.
func (d *Decoder) validation(n *yaml.Node, seen map[string]*yaml.Node, err error) {
	var joined interface{ Unwrap() []error }
	var field FieldError
	var more moreFaults
	switch {
	case err == nil:
	case errors.As(err, &joined):
		for _, e := range joined.Unwrap() {
			d.validation(n, seen, e)
		}
	case errors.As(err, &more):
		d.errs.more += int(more)
	case errors.As(err, &field) && seen[field.Field] != nil:
		d.at(fieldSegment(field.Field), func() { d.fail(seen[field.Field], "%s", field.Msg) })
	default:
		d.fail(n, "%v", err)
	}
}

// entries yields the pairs of a mapping. It adds an error for each key that is repeated or is not a string.
func (d *Decoder) entries(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		first := map[string]int{}
		for i := 0; i+1 < len(n.Content) && !d.Stopped(); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch line, again := first[key.Value]; {
			case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
				d.fail(key, "want a field name, got %s", describe(key))
			case again:
				d.at(fieldSegment(key.Value), func() { d.fail(key, "duplicate key, first set on line %d", d.source.line(line)) })
			default:
				first[key.Value] = key.Line
				if !yield(key, value) {
					return
				}
			}
		}
	}
}

func (d *Decoder) want(n *yaml.Node, what string, kind yaml.Kind, tag string) bool {
	if n.Kind == kind && (tag == "" || n.ShortTag() == tag) {
		return true
	}
	if n.Kind == yaml.ScalarNode && len(d.path) == 0 {
		// The whole document is one value, so the file is not meant for this decoder. It may be a file with a token.
		d.fail(n, "want %s, got a single value", what)
		return false
	}
	if n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle != 0 {
		d.fail(n, "want %s, got one with the tag %s: leave the tag out", what, text.Quote(n.Tag))
		return false
	}
	hint := ""
	if tag == "!!str" && n.Kind == yaml.ScalarNode {
		hint = ": put it in quotes"
	}
	d.fail(n, "want %s, got %s%s", what, describe(n), hint)
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
		return text.Quote(n.Value)
	case "!!merge":
		return "a merge key, which is not supported"
	}
	return text.Truncate(n.Value, text.Short)
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
