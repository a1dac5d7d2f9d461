package costliest

import (
	"iter"
	"strings"
)

// text is an attempt with any text in a field, or in the annotation with the key.
type text struct {
	attempt
	key string
}

// texts returns the texts in the objects of all kinds.
func texts() (all []text) {
	for _, k := range kinds() {
		for _, f := range k.fields() {
			known := []string{""}
			switch {
			case !f.object(), f.Type != textual && f.Type != mapping:
				continue
			case strings.HasSuffix(f.Path, ".annotations"):
				known = keys(k.name)
			case f.Type == mapping:
				known = keys(k.name)[:1]
			}
			for _, key := range known {
				name := strings.TrimSuffix(k.name+" "+strings.TrimPrefix(f.Path, objectPath)+": "+key, ": ")
				for _, a := range (attempt{kind: k, place: f.Path, Row: Row{Name: name, Object: true}}).varied() {
					all = append(all, text{a, key})
				}
			}
		}
	}
	return all
}

// with returns an attempt whose text is the result of content for its size.
func (t text) with(content func(size int) string) attempt {
	t.content = func(size int, _ way) raw {
		if t.key != "" {
			return "{" + quote(t.key) + ":" + quote(content(size)) + "}"
		}
		return quote(content(size))
	}
	return t.attempt
}

// Scaling yields a review for each text in an object and each pair of parts. The first half of the text repeats one
// part, and the second half repeats the other. Parts are separators, spaces, escapes, brackets, digits, characters of
// several bytes, and an attribute of a subject. Code that reads the rest of a text again for each of its elements takes
// four times as long for a text of twice the length.
func Scaling() iter.Seq[Row] {
	parts := []string{",", "a.", ":", "O=,", " ", `\`, "[", "0", "é"}
	return func(yield func(Row) bool) {
		for _, t := range texts() {
			for i := range len(parts) * len(parts) {
				first, second := parts[i/len(parts)], parts[i%len(parts)]
				scaled := t.with(func(size int) string {
					return strings.Repeat(first, size/2/len(first)) + strings.Repeat(second, size/2/len(second))
				})
				scaled.Name += ": " + string(quote(first)) + " and " + string(quote(second))
				for _, path := range scaled.paths {
					if !yield(scaled.review(create, path)) {
						return
					}
				}
			}
		}
	}
}
