package costliest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// object is a JSON object whose fields keep their order. A value is a raw, an *object, a []any, or any other value that
// json.Marshal accepts.
type object struct {
	names  []string
	values []any
}

// raw is JSON that is written unchanged.
type raw string

// parse parses an object.
func parse(data []byte) *object {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	tree, _ := value(d).(*object)
	return tree
}

// value reads the next value of d, which must be valid JSON.
func value(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		panic("costliest: " + err.Error())
	}
	switch token {
	case json.Delim('{'):
		o := new(object)
		for d.More() {
			name, _ := d.Token()
			text, _ := name.(string)
			o.set(text, value(d))
		}
		_, _ = d.Token()
		return o
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, value(d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}

// clone returns a copy of the object that put, set and remove can change without affecting the original.
func (o *object) clone() *object {
	c := &object{names: slices.Clone(o.names), values: slices.Clone(o.values)}
	for i, v := range c.values {
		c.values[i] = cloned(v)
	}
	return c
}

func cloned(v any) any {
	switch v := v.(type) {
	case *object:
		return v.clone()
	case []any:
		list := slices.Clone(v)
		for i, element := range list {
			list[i] = cloned(element)
		}
		return list
	}
	return v
}

func (o *object) index(name string) int { return slices.Index(o.names, name) }

// get returns the value of a field, or nil if the field is absent.
func (o *object) get(name string) any {
	if i := o.index(name); i >= 0 {
		return o.values[i]
	}
	return nil
}

func (o *object) set(name string, v any) {
	if i := o.index(name); i >= 0 {
		o.values[i] = v
		return
	}
	o.names, o.values = append(o.names, name), append(o.values, v)
}

func (o *object) remove(name string) {
	if i := o.index(name); i >= 0 {
		o.names, o.values = slices.Delete(o.names, i, i+1), slices.Delete(o.values, i, i+1)
	}
}

// child returns the object in a field. If the field is absent, it creates the object.
func (o *object) child(name string) *object {
	c, ok := o.get(name).(*object)
	if !ok {
		c = new(object)
		o.set(name, c)
	}
	return c
}

// put sets the field at a path. Each list in the path then has one element: its first, or a new one.
func (o *object) put(path string, v any) {
	name, rest, deeper := strings.Cut(path, ".")
	field, isList := strings.CutSuffix(name, "[]")
	switch {
	case !deeper && isList:
		o.set(field, []any{v})
	case !deeper:
		o.set(field, v)
	case isList:
		element := new(object)
		if list, ok := o.get(field).([]any); ok && len(list) > 0 {
			if first, ok := list[0].(*object); ok {
				element = first
			}
		}
		o.set(field, []any{element})
		element.put(rest, v)
	default:
		o.child(field).put(rest, v)
	}
}

// encode appends the object as JSON.
func (o *object) encode(b []byte) []byte {
	b = append(b, '{')
	for i, name := range o.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = encode(append(encode(b, name), ':'), o.values[i])
	}
	return append(b, '}')
}

func encode(b []byte, v any) []byte {
	switch v := v.(type) {
	case raw:
		return append(b, v...)
	case *object:
		return v.encode(b)
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = encode(b, element)
		}
		return append(b, ']')
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic("costliest: " + err.Error())
	}
	return append(b, text...)
}
