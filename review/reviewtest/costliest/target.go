package costliest

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
)

// Target is a field of an object that a fuzzer writes to.
type Target struct {
	field
	kind
}

// Targets returns the fields of all kinds that contain text.
func Targets() []Target {
	var all []Target
	for _, k := range kinds() {
		for _, f := range k.fields() {
			if f.object() && (f.Type == textual || f.Type == mapping) {
				all = append(all, Target{f, k})
			}
		}
	}
	return all
}

// Update is an update of a field that affects decisions.
type Update struct {
	Name  string // such as: DNSEndpoint request.object.spec.endpoints[].dnsName
	field field
	kind  kind
}

// Updates yields an update of each field in the objects of all kinds.
func Updates() iter.Seq[Update] {
	return func(yield func(Update) bool) {
		for _, k := range kinds() {
			for _, f := range k.fields() {
				if f.object() && !yield(Update{k.name + " " + f.Path, f, k}) {
					return
				}
			}
		}
	}
}

// Body returns the review. The field has the same value as before, or a different value if changed is true.
func (u Update) Body(changed bool) []byte {
	tree, old := u.kind.creation(), u.kind.creation()
	old.put(u.field.Path, u.field.valid(0))
	value := u.field.valid(0)
	if changed {
		value = u.field.valid(1)
	}
	tree.put(u.field.Path, value)
	request := tree.child("request")
	request.set("operation", "UPDATE")
	request.set("oldObject", old.child("request").get("object"))
	return tree.encode(nil)
}

// Review returns a review in which the field contains unit the given number of times. It is one value, or, if many is
// true and the field is in a list, as many elements. choice selects the operation, the endpoint and the variant.
func (t Target) Review(unit string, times int, many bool, choice uint8) (path string, body []byte) {
	a := attempt{kind: t.kind, Row: Row{Object: true, Many: many}, place: t.Path}
	list := strings.LastIndex(t.Path, "[]")
	switch {
	case many && t.Type == mapping:
		a.content = func(_ int, w way) raw {
			return join("{", "}", times, func(i int) raw { return quote(unit+strconv.Itoa(i+w.first())) + ":" + quote(unit) })
		}
	case many && list >= 0:
		a.place = t.Path[:list]
		rest := strings.TrimPrefix(t.Path[list+2:], ".")
		a.content = func(_ int, w way) raw {
			return join("[", "]", times, func(i int) raw { return wrap(rest, quote(unit+strconv.Itoa(i+w.first()))) })
		}
	case t.Type == mapping:
		key := quote(keys(t.name)[times%len(keys(t.name))])
		a.content = func(_ int, w way) raw { return "{" + key + ":" + quote(w.String()+strings.Repeat(unit, times)) + "}" }
	default:
		a.content = func(_ int, w way) raw { return quote(w.String() + strings.Repeat(unit, times)) }
	}
	n := int(choice)
	ops := int(a.operations())
	op, n := operation(n%ops), n/ops
	path, n = a.paths[n%len(a.paths)], n/len(a.paths)
	varied := a.varied()
	return path, varied[n%len(varied)].build(op, 0)
}

// String returns the prefix that makes texts different.
func (w way) String() string { return [...]string{newer: "", older: "", another: "b"}[w] }

func join(opening, closing string, times int, of func(i int) raw) raw {
	b := bytes.NewBufferString(opening)
	for i := range times {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(of(i)))
	}
	return raw(b.String() + closing)
}

// quote encodes a string as JSON in the same way as Go.
func quote(s string) raw {
	text, err := json.Marshal(s)
	if err != nil {
		panic("costliest: " + err.Error())
	}
	return raw(text)
}
