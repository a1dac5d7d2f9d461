package costliest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Row is a review that costs more than others: a field with a costly content.
type Row struct {
	Path   string // of the endpoint
	Name   string // such as: Service spec.externalName: dots; update, old: other
	Object bool   // the costly content is in the object
	Many   bool   // many small elements and not one huge value
	kind
	place   string // a path in the object, or in the rest of the review
	variant variant
	op      operation
	content func(size int, w way) raw
}

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

// way distinguishes contents of the same kind.
type way int

const (
	newer   way = iota
	older       // with an additional first element
	another     // shares nothing with the newer content
)

// first returns the number of the first element.
func (w way) first() int { return [...]int{newer: 1, older: 0, another: 1 << 20}[w] }

// String returns the prefix that makes texts different.
func (w way) String() string { return [...]string{newer: "", older: "", another: "b"}[w] }

// Rows returns a review of each field with each content, and rotates through operations and endpoints. It divides the
// rows into a number of parts and returns the rows of one part, counted from 0. Fields outside the object are tried
// with only one kind.
func Rows(parts, part int) (rows []Row) {
	n := 0
	for _, k := range kinds() {
		for _, r := range k.rows() {
			if !r.Object && k.name != "Service" {
				continue
			}
			ops := r.operations()
			op, path := operation(n)%ops, k.paths[n/int(ops)%len(k.paths)]
			if n++; n%parts == part {
				rows = append(rows, r.review(op, path))
			}
		}
	}
	return rows
}

// operations returns the number of operations for a row, starting with the first.
func (r Row) operations() operation {
	if !r.Many {
		return removed
	}
	return operations
}

// review returns the review of one operation, at one path.
func (r Row) review(op operation, path string) Row {
	r.op, r.Path, r.Name = op, path, strings.Join([]string{path, r.Name, op.String()}, "; ")
	return r
}

// Body returns the review, of about size bytes.
func (r Row) Body(size int) []byte {
	const theirs raw = `"\u0002"` // a second hole
	sent := r.sent
	for _, s := range r.variant.sets {
		sent = sent.with(s.path, s.value)
	}
	body, old := sent.with(r.place, hole), sent
	var now, before raw
	switch {
	case r.op == create || !r.Object:
		now = r.content(size, newer)
	case r.op == without:
		body, old, before = sent, sent.with(r.place, theirs), r.content(size, newer)
	default:
		old, now = sent.with(r.place, theirs), r.content(size/2, newer)
		before = r.content(size/2, [...]way{same: newer, other: another, removed: older}[r.op])
	}
	if r.op != create {
		if r.place != "request.operation" {
			body = body.with("request.operation", `"UPDATE"`)
		}
		body = body.with("request.oldObject", old.get("request").get("object"))
	}
	return []byte(strings.NewReplacer(string(hole), string(now), string(theirs), string(before)).Replace(string(body)))
}

// Creation returns the review of a creation with the same content, which every rule evaluates.
func (r Row) Creation(size int) []byte {
	r.op = create
	return r.Body(size)
}

// rows returns all fields with all contents, on the ordinary object and on the variants that apply to the field.
func (k kind) rows() (all []Row) {
	fields := k.fields()
	for _, f := range fields {
		for _, r := range append(k.huge(f), k.many(f)...) {
			all = append(all, r.varied()...)
		}
	}
	spec := field{objectPath + "spec", mapping}
	return append(all, k.all(fields), k.row(spec, spec.Path, "many fields that are not read", true,
		func(size int, w way) raw { return entries("terminationMessagePa", size, w) }))
}

// row returns the row of a content at the place of a field or of a list that contains it.
func (k kind) row(f field, place, what string, many bool, content func(size int, w way) raw) Row {
	path := strings.TrimPrefix(strings.TrimPrefix(f.Path, objectPath), "request.")
	name := strings.TrimSuffix(strings.TrimSpace(k.name+" "+path)+": "+what, ": ")
	return Row{
		kind: k, place: place, Name: name, Object: f.object(), Many: many, content: content,
	}
}

// Updates returns an update of each field in the objects of all kinds, to another value or to the same.
func Updates(changed bool) (all []Row) {
	op := map[bool]operation{false: same, true: other}[changed]
	for _, k := range kinds() {
		for _, f := range k.fields() {
			if f.object() {
				value := func(_ int, w way) raw { return f.valid(int(min(w, 1))) }
				all = append(all, k.row(f, f.Path, "", false, value).review(op, k.paths[0]))
			}
		}
	}
	return all
}

// varied returns the row on the ordinary object and on the variants that apply to its field.
func (r Row) varied() []Row {
	all := []Row{r}
	for _, v := range r.variants {
		if strings.HasPrefix(r.place, v.field) {
			varied := r
			varied.variant, varied.Name = v, r.Name+"; "+v.name
			all = append(all, varied)
		}
	}
	return all
}

// huge returns the field with one huge value of each nasty text.
func (k kind) huge(f field) (all []Row) {
	add := func(what string, content func(size int, w way) raw) {
		all = append(all, k.row(f, f.Path, what, false, content))
	}
	switch f.Type {
	case boolean:
		return nil
	case numeric:
		add("digits", func(size int, w way) raw { return raw(strings.Repeat("7", max(1, size-int(w)))) })
		return all
	}
	for _, n := range nasties() {
		value := func(size int, w way) raw { return n.textAfter(w.String(), size) }
		if f.Type == textual {
			add(n.name, value)
			continue
		}
		add("a key of "+n.name, func(size int, w way) raw { return "{" + value(size, w) + `:"a"}` })
		for _, key := range f.keys(k.name) {
			add(key+" of "+n.name, func(size int, w way) raw { return "{" + quote(key) + ":" + value(size, w) + "}" })
		}
	}
	return all
}

// many returns the field with many small elements. Each list that contains the field is long in one of the rows.
func (k kind) many(f field) (all []Row) {
	if f.Type == mapping {
		for _, prefix := range []string{"a", "nginx.ingress.kubernetes.io/a", "\x7f"} {
			all = append(all, k.row(f, f.Path, "many keys "+prefix, true, func(size int, w way) raw {
				return entries(prefix, size, w)
			}))
		}
	}
	for i := range f.Path {
		if !strings.HasPrefix(f.Path[i:], "[]") {
			continue
		}
		place := f.Path[:i]
		around := wrap(strings.TrimPrefix(f.Path[i+2:], "."))
		for _, e := range elements() {
			for _, atMost := range []string{fmt.Sprintf(", at most %d", mostElements), ""} {
				what := "many elements of " + place + ", " + e.name + atMost
				all = append(all, k.row(f, place, what, true, func(size int, w way) raw {
					return list(size, atMost != "", func(i int) raw { return around(e.of(f, i+w.first())) })
				}))
			}
		}
	}
	return all
}

// wrap returns a function that returns an element of a list in which the field at a path has a value.
func wrap(path string) func(value raw) raw {
	if path == "" {
		return func(value raw) raw { return value }
	}
	before, after, _ := strings.Cut(string(raw("").with(path, hole)), string(hole))
	return func(value raw) raw { return raw(before) + value + raw(after) }
}

// list returns a list of about size bytes. If evaluated is true, it does not have more elements than are evaluated, and
// spaces fill the rest of the size.
func list(size int, evaluated bool, of func(i int) raw) raw {
	all := join("[]", func(i, n int) bool {
		return n < size && (!evaluated || i != mostElements-100) // every object has some more elements
	}, of)
	return all + raw(strings.Repeat(" ", max(0, size+1-len(all))))
}

// entries returns a mapping of about size bytes.
func entries(prefix string, size int, w way) raw {
	return join("{}", func(_, n int) bool { return n < size }, func(i int) raw {
		return raw(fmt.Sprintf(`"%s%d":"b"`, prefix, i+w.first()))
	})
}

// all returns an object in which every list that affects a decision is long and every field of its elements is set.
func (k kind) all(fields []field) Row {
	outer := map[string][]field{}
	for _, f := range fields {
		place, _, isList := strings.Cut(f.Path, "[]")
		if isList && f.object() && !strings.Contains(place, "metadata") {
			outer[place] = append(outer[place], f)
		}
	}
	object := field{objectPath, mapping}
	return k.row(object, "request.object", "all lists long", true, func(size int, w way) raw {
		review := k.sent
		for _, place := range slices.Sorted(maps.Keys(outer)) {
			review = review.with(place, list(size/len(outer), true, func(i int) (element raw) {
				for _, f := range outer[place] {
					value := f.valid(i + w.first())
					if rest := strings.TrimPrefix(f.Path[len(place)+2:], "."); rest != "" {
						value = element.with(rest, value)
					}
					element = value
				}
				return element
			}))
		}
		return review.get("request").get("object")
	})
}
