package costliest

import (
	"strconv"
	"strings"
)

// Text is a row with any text in a field of an object, or in an annotation. Fuzzers write into it.
type Text struct {
	Row
	key string // of the annotation, or empty
}

// Texts returns the texts in the objects of all kinds.
func Texts() (all []Text) {
	for _, k := range kinds() {
		for _, f := range k.fields() {
			if !f.object() || f.Type != textual && f.Type != mapping {
				continue
			}
			for _, key := range f.keys(k.name) {
				for _, r := range k.row(f, f.Path, key, false, nil).varied() {
					all = append(all, Text{r, key})
				}
			}
		}
	}
	return all
}

// with returns a row whose text is the result of content for its size.
func (t Text) with(content func(size int, w way) string) Row {
	t.content = func(size int, w way) raw {
		if t.key != "" {
			return "{" + quote(t.key) + ":" + quote(content(size, w)) + "}"
		}
		return quote(content(size, w))
	}
	return t.Row
}

// Repeated returns a row in which the text contains unit the given number of times. It is one value, or, if many is
// true, as many keys of the mapping, or as many elements of the list that contains the field. choice selects the
// operation and the endpoint.
func (t Text) Repeated(unit string, times int, many bool, choice uint8) Row {
	r := t.with(func(_ int, w way) string { return w.String() + strings.Repeat(unit, times) })
	list := strings.LastIndex(t.place, "[]")
	if r.Many = many && (t.key != "" || list >= 0); r.Many {
		brackets, around := "{}", func(name raw) raw { return name + ":" + quote(unit) }
		if t.key == "" {
			r.place, brackets, around = t.place[:list], "[]", wrap(strings.TrimPrefix(t.place[list+2:], "."))
		}
		r.content = func(_ int, w way) raw {
			return join(brackets, func(i, _ int) bool { return i < times },
				func(i int) raw { return around(quote(unit + strconv.Itoa(i+w.first()))) })
		}
	}
	ops := int(r.operations())
	return r.review(operation(int(choice)%ops), r.paths[int(choice)/ops%len(r.paths)])
}

// Pairs returns a review for each text in an object and each pair of parts, and divides them like Rows. The first half
// of the text repeats one part, and the second half repeats the other. Parts are separators, spaces, escapes, brackets,
// digits, characters of several bytes, and an attribute of a subject. Code that reads the rest of a text again for each
// of its elements takes far longer than for the nasty texts of Rows.
func Pairs(parts, part int) (rows []Row) {
	units := []string{",", "a.", ":", "O=,", " ", `\`, "[", "0", "é"}
	n := 0
	for _, t := range Texts() {
		for i := range len(units) * len(units) {
			first, second := units[i/len(units)], units[i%len(units)]
			pair := t.with(func(size int, _ way) string {
				return strings.Repeat(first, size/2/len(first)) + strings.Repeat(second, size/2/len(second))
			})
			pair.Name += ": " + string(quote(first)) + " and " + string(quote(second))
			for _, path := range pair.paths {
				if n++; n%parts == part {
					rows = append(rows, pair.review(create, path))
				}
			}
		}
	}
	return rows
}
