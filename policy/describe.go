package policy

import (
	"context"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Entry is an entry of a policy as it is written, for what says policies in another language. Its fields are those of
// the file, with their patterns in normal form. A reader refuses the fields that it does not know.
type Entry struct {
	Block   string // mirrors, pods, ingresses, …, or exceptions
	Name    string
	Mode    Mode
	Message string
	Pos     Position
	// Fields are those that are set, but for name, mode and message. A mapping is a Fields, a list a []any, and any other
	// value a string: of a field that has no value of its own (defaultBackend: deny) it is "true".
	Fields Fields
}

// Position is where an entry stands.
type Position struct {
	File         string
	Line, Column int
	Path         string // the field: pods[0]
}

// String returns file:line:column.
func (p Position) String() string {
	return strict.Pos{File: p.File, Line: p.Line, Column: p.Column}.String()
}

// Fields are the fields of an entry by their names.
type Fields map[string]any

// Document is a policy as it is written: its entries in their order, and what it has beside them.
type Document struct {
	Entries []Entry
	// Settings are the fields of the document that are no entries: annotationPrefixes, carriers, globbingClasses,
	// hostAnnotations, templates.
	Settings Fields
	// HostAnnotations are the annotations by which objects claim hosts, by their kinds, also those under the prefixes of
	// annotationPrefixes.
	HostAnnotations map[string][]HostAnnotation
}

// HostAnnotation is an annotation by which objects of a kind claim hosts.
type HostAnnotation struct {
	Key     string // in lower case, * for any run of characters; compared without case
	Grammar string // how its value names hosts: a word of data/host-annotations.txt
}

// ReadsHosts reports whether rules read hosts in an annotation of objects of a kind.
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

// LooksLikeHosts reports whether a text is a list of names with commas between them, each with a dot, and with letters
// alone behind its last dot.
func LooksLikeHosts(s string) bool {
	found := false
	for name := range elements(s) {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "*."), ".")
		dot := strings.LastIndexByte(name, '.')
		top := name[dot+1:]
		isLetter := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
		if dot < 0 || !isHostName(name) || len(top) < 2 ||
			strings.ContainsFunc(top, func(c rune) bool { return !isLetter(c) }) && !strings.HasPrefix(top, "xn--") {
			return false
		}
		found = true
	}
	return found
}

// Describe returns the entries of a policy, also those that are off. The policy must be one that Load loads.
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

// describe returns the document as Describe has it.
func (d *document) describe() Document {
	out := Document{HostAnnotations: allHostAnnotations(d.AnnotationPrefixes.more(), d.HostAnnotations)}
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

// describer is implemented by values of which String leaves something out.
type describer interface{ describe() any }

// describe implements describer.
func (d destination) describe() any {
	written := d.place
	if d.registry != "" {
		registry, _, _ := strings.Cut(d.place, "/")
		written = d.registry + d.place[len(registry):]
	}
	fields := Fields{"place": d.place, "written": written}
	if d.keepRegistry {
		fields["keepRegistry"] = "true"
	}
	return fields
}

// describe returns a value of a file: Fields, a []any, a string, or nil for one that is not set.
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

// describeText describes a value that has a text of its own.
func describeText(v reflect.Value) (any, bool) {
	if v.Kind() != reflect.Pointer && v.CanAddr() {
		v = v.Addr()
	}
	switch x := v.Interface().(type) {
	case describer:
		return x.describe(), true
	case fmt.Stringer:
		return x.String(), true
	case encoding.TextUnmarshaler:
		if v.Elem().Kind() == reflect.Struct && v.Elem().NumField() == 0 {
			return "true", true
		}
	}
	return nil, false
}

// describeScalar returns the text of a word, a number, or a condition; nil for the zero value, which is that of an
// absent field.
func describeScalar(v reflect.Value) any {
	if v.IsZero() {
		return nil
	}
	return fmt.Sprint(v.Interface())
}

// describeFields adds the fields of a struct that are set, with those of embedded structs.
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
