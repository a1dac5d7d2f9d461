package costliest

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Row is a review that costs more than others.
type Row struct {
	Path   string // of the endpoint
	Name   string // such as: Service spec.externalName: dots; update, old: other
	Object bool   // the costly content is in the object
	Many   bool   // many small elements and not one huge value
	body   func(size int) []byte
	// created returns the review of a creation of the object.
	created func(size int) []byte
}

// Regexes reports whether the policy of Regexes reads the costly content: one huge annotation of a Service, or many
// annotations of the length that regular expressions are compared with.
func (r Row) Regexes() bool {
	return (!r.Many || strings.Contains(r.Name, longValues)) && r.Object && strings.HasPrefix(r.Path, "/validate/services") &&
		strings.Contains(r.Name, " metadata.annotations:")
}

// longValues is the name of the content with many annotations of 1,024 characters.
const longValues = "many values of 1,024 characters"

// Body returns the review, of about size bytes.
func (r Row) Body(size int) []byte { return r.body(size) }

// Creation returns the review of a creation with the same content, which every rule evaluates.
func (r Row) Creation(size int) []byte { return r.created(size) }

// mostElements is the maximum number of elements of an object that is evaluated. An object with more is denied without
// evaluation, so objects with this number cost most.
const mostElements = 10_000

// operation is a creation, or an update with some kind of old object.
type operation int

const (
	create operation = iota
	same
	other
	without // the object is ordinary, and the old object contains the costly content
	removed // the first of the old elements; only for contents with many elements
	operations
)

func (o operation) String() string {
	return [...]string{
		"create", "update, old the same", "update, old another", "update, old alone", "update, the first element removed",
	}[o]
}

// Rows yields a review of each field with each content, and rotates through operations and endpoints. It divides the
// rows into a number of parts and yields the rows of one part, counted from 0. Fields outside the object are tried with
// only one kind.
func Rows(parts, part int) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		row := 0
		for a := range attempts() {
			if !a.Object && a.name != "Service" {
				continue
			}
			ops := a.operations()
			op, path := operation(row)%ops, a.paths[row/int(ops)%len(a.paths)]
			if row++; row%parts == part && !yield(a.review(op, path)) {
				return
			}
		}
	}
}

// attempt is a field with a content, before it becomes a review of an operation.
type attempt struct {
	kind
	Row
	place   string // a path in an object, or in the rest of the review
	variant variant
	content func(size int, w way) raw
}

// operations returns the number of operations for an attempt, starting with the first.
func (a attempt) operations() operation {
	if !a.Many {
		return removed
	}
	return operations
}

// review returns the review of one operation.
func (a attempt) review(op operation, path string) Row {
	r := a.Row
	r.Path, r.Name = path, strings.Join([]string{path, a.Name, op.String()}, "; ")
	r.body = func(size int) []byte { return a.build(op, size) }
	r.created = func(size int) []byte { return a.build(create, size) }
	return r
}

func (a attempt) build(op operation, size int) []byte {
	tree, old := a.creation(), a.creation()
	switch {
	case op == create || !a.Object:
		tree.put(a.place, a.content(size, newer))
	case op == without:
		old.put(a.place, a.content(size, newer))
	default:
		tree.put(a.place, a.content(size/2, newer))
		old.put(a.place, a.content(size/2, [...]way{same: newer, other: another, removed: older}[op]))
	}
	request := tree.child("request")
	if op != create {
		if a.place != "request.operation" {
			request.set("operation", "UPDATE")
		}
		request.set("oldObject", old.child("request").get("object"))
	}
	if change := a.variant.change; change != nil {
		change(request, request.child("object"))
		if op != create {
			change(request, request.child("oldObject"))
		}
	}
	return tree.encode(make([]byte, 0, 2*size+16<<10))
}

// way distinguishes contents of the same kind.
type way int

const (
	newer   way = iota
	older       // with an additional first element
	another     // shares nothing with the newer content
)

// first returns the number of the first element.
func (w way) first() int { return [...]int{newer: 1, older: 0, another: 1 << 20}[w] }

// creation returns the review of the creation of an ordinary object.
func (k kind) creation() *object { return k.sent.clone() }

// attempts yields all fields with all contents.
func attempts() iter.Seq[attempt] {
	return func(yield func(attempt) bool) {
		for _, k := range kinds() {
			fields := k.fields()
			for _, f := range fields {
				for a := range k.attempts(f) {
					for _, a := range a.varied() {
						if !yield(a) {
							return
						}
					}
				}
			}
			if !yield(k.all(fields)) || !yield(k.unknown()) {
				return
			}
		}
	}
}

// varied returns the attempt on the base and on the variants that apply to its field.
func (a attempt) varied() []attempt {
	all := []attempt{a}
	for _, v := range a.variants {
		if slices.ContainsFunc(v.fields, func(prefix string) bool { return strings.HasPrefix(a.place, prefix) }) {
			varied := a
			varied.variant, varied.Name = v, a.Name+"; "+v.name
			all = append(all, varied)
		}
	}
	return all
}

// attempts yields all contents of one field.
func (k kind) attempts(f field) iter.Seq[attempt] {
	return func(yield func(attempt) bool) {
		add := func(place, what string, many bool, content func(size int, w way) raw) bool {
			name := k.name + " " + strings.TrimPrefix(strings.TrimPrefix(f.Path, objectPath), "request.") + ": " + what
			return yield(attempt{kind: k, Row: Row{Name: name, Object: f.object(), Many: many}, place: place, content: content})
		}
		_ = k.huge(f, add) && k.many(f, add)
	}
}

type adder = func(place, what string, many bool, content func(size int, w way) raw) bool

// huge adds the field with one huge value of each nasty text.
func (k kind) huge(f field, add adder) bool {
	switch f.Type {
	case boolean:
		return true
	case numeric:
		return add(f.Path, "digits", false, func(size int, w way) raw { return digits(size - int(w)) })
	}
	for _, n := range nasties() {
		value := func(size int, w way) raw {
			return n.textAfter(w.String(), size)
		}
		if f.Type == textual {
			if !add(f.Path, n.name, false, value) {
				return false
			}
			continue
		}
		if !add(f.Path, "a key of "+n.name, false, func(size int, w way) raw { return "{" + value(size, w) + `:"a"}` }) {
			return false
		}
		known := keys(k.name)
		if !strings.HasSuffix(f.Path, ".annotations") {
			known = known[:1]
		}
		for _, key := range known {
			if !add(f.Path, key+" of "+n.name, false, func(size int, w way) raw {
				return raw(`{"`+key+`":`) + value(size, w) + "}"
			}) {
				return false
			}
		}
	}
	return true
}

// many adds the field with many small elements. Each list that contains the field is long in one of the attempts.
func (k kind) many(f field, add adder) bool {
	if f.Type == mapping {
		for _, prefix := range []string{"a", "nginx.ingress.kubernetes.io/a", "\x7f"} {
			if !add(f.Path, "many keys "+prefix, true, func(size int, w way) raw {
				return entries(prefix, "b", size, w)
			}) {
				return false
			}
		}
		pairs := strings.Repeat("axbyqaz", 147)[:1024] // see nasties
		if strings.HasSuffix(f.Path, ".annotations") &&
			!add(f.Path, longValues, true, func(size int, w way) raw { return entries("a", pairs, size, w) }) {
			return false
		}
	}
	for place, rest := range lists(f.Path) {
		for _, e := range elements() {
			for _, evaluated := range []bool{true, false} {
				what := "many elements of " + place + ", " + e.name
				if evaluated {
					what += fmt.Sprintf(", at most %d", mostElements)
				}
				if !add(place, what, true, func(size int, w way) raw {
					return list(size, evaluated, func(i int) raw { return wrap(rest, e.of(f, i+w.first())) })
				}) {
					return false
				}
			}
		}
	}
	return true
}

// lists yields the lists that contain a field, each with the rest of the path below an element.
func lists(path string) iter.Seq2[string, string] {
	return func(yield func(place, rest string) bool) {
		for i := 0; ; {
			next := strings.Index(path[i:], "[]")
			if next < 0 {
				return
			}
			i += next
			if !yield(path[:i], strings.TrimPrefix(path[i+2:], ".")) {
				return
			}
			i += 2
		}
	}
}

// wrap returns an element of a list in which the field at a path has a value.
func wrap(path string, value raw) raw {
	if path == "" {
		return value
	}
	o := new(object)
	o.put(path, value)
	return raw(o.encode(nil))
}

// list returns a list of about size bytes. If evaluated is true, it does not have more elements than are evaluated, and
// spaces fill the rest of the size.
func list(size int, evaluated bool, of func(i int) raw) raw {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := 0; b.Len() < size && (!evaluated || i != mostElements-100); i++ { // every object has some more elements
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(of(i)))
	}
	return raw(b.String() + "]" + strings.Repeat(" ", max(0, size-b.Len())))
}

// entries returns a mapping of about size bytes.
func entries(prefix, value string, size int, w way) raw {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s%d":"%s"`, prefix, i+w.first(), value)
	}
	return raw(b.String() + "}")
}

// all returns an object in which every list that affects a decision is long and every field of its elements is set.
func (k kind) all(fields []field) attempt {
	outer := map[string][]field{}
	for _, f := range fields {
		place, _, isList := strings.Cut(f.Path, "[]")
		if isList && f.object() && !strings.Contains(place, "metadata") {
			outer[place] = append(outer[place], f)
		}
	}
	content := func(size int, w way) raw {
		tree := k.creation().child("request").child("object")
		for place, fields := range outer {
			tree.put(strings.TrimPrefix(place, objectPath), list(size/len(outer), true, func(i int) raw {
				element := new(object)
				for _, f := range fields {
					rest := strings.TrimPrefix(f.Path[len(place)+2:], ".")
					if rest == "" {
						return f.valid(i + w.first())
					}
					element.put(rest, f.valid(i+w.first()))
				}
				return raw(element.encode(nil))
			}))
		}
		return raw(tree.encode(nil))
	}
	return attempt{
		kind: k, Row: Row{Name: k.name + ": all lists long", Object: true, Many: true}, place: "request.object",
		content: content,
	}
}

// unknown returns an object with many fields that are not read.
func (k kind) unknown() attempt {
	return attempt{
		kind: k, Row: Row{Name: k.name + " spec: many fields that are not read", Object: true, Many: true},
		place:   objectPath + "spec",
		content: func(size int, w way) raw { return entries("terminationMessagePa", "b", size, w) },
	}
}
