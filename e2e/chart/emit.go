package chart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// emitter writes the template of an object. All rows of the space are merged into this one text.
type emitter struct {
	space *space
	lines []string
	ended map[int]string // the conditions of blocks, by the number of the line that ends them
	err   error
}

func (e *emitter) line(indent int, text string) {
	e.lines = append(e.lines, strings.Repeat(" ", indent)+text)
}

func (e *emitter) text() string { return strings.Join(e.lines, "\n") + "\n" }

// when writes the lines of body with the condition that is true exactly in the rows of in.
func (e *emitter) when(indent int, within, in rows, body func()) {
	if within == in {
		body()
		return
	}
	condition, err := e.space.condition(within, in)
	if err != nil {
		e.err = cmp.Or(e.err, err)
		return
	}
	begin := strings.Repeat(" ", indent) + "{{- if " + condition + " }}"
	if e.ended[len(e.lines)-1] == begin {
		e.lines = e.lines[:len(e.lines)-1] // continue the block
	} else {
		e.lines = append(e.lines, begin)
	}
	body()
	e.line(indent, "{{- end }}")
	if e.ended == nil {
		e.ended = map[int]string{}
	}
	e.ended[len(e.lines)-1] = begin
}

// class is a set of rows with an equal value.
type class struct {
	rows  rows
	value any
}

func classes(in rows, values []any) []class {
	var all []class
	index := map[string]int{}
	for i, v := range values {
		if !in.has(i) {
			continue
		}
		key := identity(v)
		at, ok := index[key]
		if !ok {
			at = len(all)
			index[key] = at
			all = append(all, class{value: v})
		}
		all[at].rows.add(i)
	}
	return all
}

// identity returns a text that is equal for equal values only. Package fmt sorts the keys of maps.
func identity(v any) string { return fmt.Sprintf("%#v", v) }

// entry writes a field or an element of a list. prefix is its key with a colon, or a dash.
func (e *emitter) entry(indent int, prefix string, in rows, values []any) {
	all, column := classes(in, values), column(indent, prefix)
	every := func(is func(any) bool) bool {
		return !slices.ContainsFunc(all, func(c class) bool { return !is(c.value) })
	}
	switch {
	case every(isMapping):
		if prefix == "-" {
			e.mapping(indent+2, in, values, prefix)
			return
		}
		paths := splices(all)
		if len(paths) > 0 {
			e.line(indent, "{{- if or "+strings.Join(paths, " ")+" }}")
		}
		e.line(indent, prefix)
		e.mapping(column+2, in, values, "")
		if len(paths) > 0 {
			e.line(indent, "{{- end }}")
		}
	case every(isList) && (len(all) == 1 || e.sequence(in, values) != nil):
		e.line(indent, prefix)
		if prefix == "-" {
			column += 2
		}
		e.list(column, in, values)
	case len(all) == 1:
		e.single(indent, prefix, all[0].value)
	default:
		e.choice(indent, prefix, in, all, values)
	}
}

// column returns the column of the key in a prefix, which may be the first key of a mapping in a list.
func column(indent int, prefix string) int {
	if strings.HasPrefix(prefix, "- ") {
		return indent + 2
	}
	return indent
}

// choice writes one entry for each class.
func (e *emitter) choice(indent int, prefix string, in rows, all []class, values []any) {
	slices.SortStableFunc(all, func(a, b class) int { return cmp.Compare(a.rows.len(), b.rows.len()) })
	rest := in
	for i, c := range all {
		keyword := "{{- else }}"
		if i < len(all)-1 {
			condition, err := e.space.condition(rest, c.rows)
			if err != nil {
				e.err = cmp.Or(e.err, err)
				return
			}
			keyword = "{{- else if " + condition + " }}"
			if i == 0 {
				keyword = "{{- if " + condition + " }}"
			}
		}
		e.line(indent, keyword)
		e.entry(indent, prefix, c.rows, values)
		for r := range rest {
			rest[r] &^= c.rows[r]
		}
	}
	e.line(indent, "{{- end }}")
}

// mapping writes the entries of mappings. If dash is set, the first line starts with it.
func (e *emitter) mapping(indent int, in rows, values []any, dash string) {
	fields := map[string][]any{}
	present := map[string]rows{}
	for i, v := range values {
		if !in.has(i) {
			continue
		}
		for key, field := range v.(map[string]any) {
			if fields[key] == nil {
				fields[key] = make([]any, len(values))
			}
			fields[key][i] = field
			set := present[key]
			set.add(i)
			present[key] = set
		}
	}
	keys := slices.Sorted(maps.Keys(fields))
	if dash != "" {
		first := e.first(keys, in, present, fields)
		if first < 0 {
			e.line(indent-2, dash)
		} else {
			key := keys[first]
			keys = slices.Delete(keys, first, first+1)
			e.entry(indent-2, dash+" "+key+":", present[key], fields[key])
		}
	}
	for _, key := range keys {
		e.when(indent, in, present[key], func() {
			if isSplice(key) {
				e.splice(indent, fields[key], present[key])
				return
			}
			e.entry(indent, quoteKey(key)+":", present[key], fields[key])
		})
	}
}

// first returns the index of the key that is best next to the dash of a list: a key that is always there, if possible
// the name. It returns -1 if there is no such key.
func (e *emitter) first(keys []string, in rows, present map[string]rows, fields map[string][]any) int {
	always := func(key string) bool { return present[key] == in && !isSplice(key) }
	if i := slices.Index(keys, "name"); i >= 0 && always("name") {
		return i
	}
	plain := slices.IndexFunc(keys, func(key string) bool {
		all := classes(present[key], fields[key])
		return always(key) && len(all) == 1 && isPlain(all[0].value)
	})
	if plain >= 0 {
		return plain
	}
	return slices.IndexFunc(keys, func(key string) bool { return always(key) && !isExpr(fields[key], in) })
}

// list writes the elements of lists in an order that is right for all rows.
func (e *emitter) list(indent int, in rows, values []any) {
	order := e.sequence(in, values)
	if order == nil { // one list, with equal elements
		for _, element := range classes(in, values)[0].value.([]any) {
			e.entry(indent, "-", in, slices.Repeat([]any{element}, len(values)))
		}
		return
	}
	for _, id := range order {
		present, elements := rows{}, make([]any, len(values))
		for i, v := range values {
			if !in.has(i) {
				continue
			}
			if at := slices.Index(elementIDs(v.([]any)), id); at >= 0 {
				present.add(i)
				elements[i] = v.([]any)[at]
			}
		}
		e.when(indent, in, present, func() { e.entry(indent, "-", present, elements) })
	}
}

// sequence returns the elements of all lists in an order that contains the order of each list. It returns nil if there
// is no such order, or if two lists do not have an element in common.
func (e *emitter) sequence(in rows, values []any) []string {
	var all []string // in the order in which they appear
	after := map[string][]string{}
	for n, c := range classes(in, values) {
		ids := elementIDs(c.value.([]any))
		shared := slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(all, id) })
		if ids == nil || n > 0 && !shared {
			return nil
		}
		for i, id := range ids {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
			after[id] = append(after[id], ids[:i]...)
		}
	}
	var order []string
	for len(order) < len(all) {
		next := slices.IndexFunc(all, func(id string) bool {
			return !slices.Contains(order, id) &&
				!slices.ContainsFunc(after[id], func(before string) bool { return !slices.Contains(order, before) })
		})
		if next < 0 {
			return nil
		}
		order = append(order, all[next])
	}
	return order
}

// elementIDs returns a name for each element of a list, or nil if two elements have the same name. Mappings in
// Kubernetes lists are identified by their name or key.
func elementIDs(list []any) []string {
	var ids []string
	for _, element := range list {
		id := identity(element)
		if m, ok := element.(map[string]any); ok {
			for _, key := range []string{"name", "key"} {
				if name, ok := m[key].(string); ok {
					id = name
					break
				}
			}
		}
		if slices.Contains(ids, id) {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}
