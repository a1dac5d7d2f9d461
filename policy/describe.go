package policy

import (
	"context"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Entry is an entry of a policy as written, for programs that translate policies into other languages. It has the
// fields of the file, with their patterns in normal form. Translators should return an error for fields that they do
// not support.
type Entry struct {
	Block   string // mirrors, pods, ingresses, …, or exceptions
	Name    string
	Mode    Mode
	Message string
	Pos     Position
	// Fields contains the fields that are set, except name, mode and message. A mapping is a Fields, a list is a []any,
	// and any other value is a string. The string is "true" for a field whose value has no content, such as
	// defaultBackend: deny.
	Fields Fields
}

// Position is the position of an entry in its file.
type Position struct {
	File         string
	Line, Column int
	Path         string // the path of the field: pods[0]
}

// String returns file:line:column.
func (p Position) String() string {
	return strict.Pos{File: p.File, Line: p.Line, Column: p.Column}.String()
}

// Fields maps the names of fields to their values.
type Fields map[string]any

// Document is a policy as written. It contains the entries in their order and the other fields of the policy.
type Document struct {
	Entries []Entry
	// Settings contains the fields of the document that do not hold entries: annotationPrefixes,
	// sharedGatewayNamespaces, globbingClasses, hostAnnotations, templates, shortNameRegistry.
	Settings Fields
	// HostAnnotations maps kinds to the annotations by which their objects claim hosts. It includes the annotations under
	// the prefixes of annotationPrefixes.
	HostAnnotations map[string][]HostAnnotation
}

// ReadsHosts reports whether rules read hosts from this annotation of objects of a kind.
func (d *Document) ReadsHosts(kind, key string) bool {
	key = match.LowerASCII(key)
	reads := func(a HostAnnotation) bool { return match.Glob(a.Key).Match(key) }
	switch kind {
	case "Gateway", "ListenerSet", "XListenerSet":
		return slices.ContainsFunc(d.HostAnnotations["Gateway"], reads) ||
			slices.ContainsFunc(d.HostAnnotations["Service"], reads)
	}
	return slices.ContainsFunc(d.HostAnnotations[kind], reads)
}

// Describe returns the policy in files as written, including entries that are off. It returns an error if the policy
// fails to load.
func Describe(files ...File) (Document, error) {
	if _, err := Load(files...); err != nil {
		return Document{}, err
	}
	limits := fileLimits()
	d := strict.NewDecoder(context.Background(), strict.Limits{
		Values: limits.Values, Entries: limits.Entries, Texts: limits.Patterns, Cost: limits.RegexSteps,
	})
	var all document
	for _, f := range inOrder(files) {
		all.merge(d, f)
	}
	return all.describe(), nil
}

// describe returns the document in the form that Describe returns.
func (d *document) describe() Document {
	out := Document{HostAnnotations: claim.DescribeAnnotations(d.AnnotationPrefixes, d.HostAnnotations)}
	v := reflect.ValueOf(d).Elem()
	out.Settings, _ = describe(v).(Fields)
	for field, entries := range d.all() {
		name := field.Tag.Get("yaml")
		delete(out.Settings, name)
		for i := range entries.Len() {
			out.Entries = append(out.Entries, describeEntry(name, entries.Index(i)))
		}
	}
	for i := range d.Exceptions {
		e := &d.Exceptions[i]
		fields, _ := describe(reflect.ValueOf(e).Elem()).(Fields)
		delete(fields, "name")
		out.Entries = append(out.Entries, Entry{
			Block: "exceptions", Name: string(e.Name), Mode: Enforce, Pos: Position(e.Pos), Fields: fields,
		})
	}
	for _, name := range []string{"apiVersion", "kind", "allowEmpty", "exceptions"} {
		delete(out.Settings, name)
	}
	return out
}

// describeEntry returns an entry of a block.
func describeEntry(block string, v reflect.Value) Entry {
	fields, _ := describe(v).(Fields)
	h := headOf(v)
	e := Entry{Block: block, Name: string(h.Name), Mode: h.Mode, Pos: Position(h.Pos), Fields: fields}
	e.Message, _ = fields["message"].(string)
	for _, name := range []string{"name", "mode", "message"} {
		delete(fields, name)
	}
	return e
}

// describer is implemented by values whose String method omits something.
type describer interface{ Describe() map[string]any }

// describe returns a value of a file as Fields, a []any or a string, or nil if the value is not set.
func describe(v reflect.Value) any {
	if v.Kind() == reflect.Pointer && v.IsNil() || v.Kind() == reflect.Slice && v.IsNil() {
		return nil
	}
	if text, ok := describeText(v); ok {
		return text
	}
	switch v.Kind() {
	case reflect.Pointer:
		return describe(v.Elem())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = describe(v.Index(i))
		}
		return list
	case reflect.Struct:
		fields := Fields{}
		describeFields(v, fields)
		return fields
	default:
		return describeScalar(v)
	}
}

// describeText describes a value that implements describer or fmt.Stringer, or an empty struct that implements
// encoding.TextUnmarshaler. It reports whether the value is of these types.
func describeText(v reflect.Value) (any, bool) {
	if v.Kind() != reflect.Pointer && v.CanAddr() {
		v = v.Addr()
	}
	switch x := v.Interface().(type) {
	case describer:
		return Fields(x.Describe()), true
	case fmt.Stringer:
		return x.String(), true
	case encoding.TextUnmarshaler:
		if v.Elem().Kind() == reflect.Struct && v.Elem().NumField() == 0 {
			return "true", true
		}
	}
	return nil, false
}

// describeScalar returns the text of a word, a number, or a condition. It returns nil for the zero value, because the
// field is then absent.
func describeScalar(v reflect.Value) any {
	if v.IsZero() {
		return nil
	}
	return fmt.Sprint(v.Interface())
}

// describeFields adds the set fields of a struct and of its embedded structs.
func describeFields(v reflect.Value, to Fields) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case f.Anonymous && name == "":
			describeFields(v.Field(i), to)
		case name == "" || name == "-":
		default:
			if value := describe(v.Field(i)); value != nil {
				to[name] = value
			}
		}
	}
}
