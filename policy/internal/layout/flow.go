package layout

import (
	"slices"
	"strings"
)

// formatFlow formats the list or the mapping in brackets that a text begins with, if it ends in this line, and returns
// what follows it, with the spaces before.
func formatFlow(s string, order *Order) (formatted, rest string, ok bool) {
	if s == "" || s[0] != '{' && s[0] != '[' {
		return "", "", false
	}
	f := flow{s: s}
	formatted, ok = f.value(order)
	return formatted, f.s[f.i:], ok
}

// flow reads values in brackets from a line.
type flow struct {
	s string
	i int // read so far
}

// maxDepth is how deep brackets may be nested: deeper than any field of a policy.
const maxDepth = 20

func (f *flow) value(order *Order) (string, bool) { return f.nested(order, 0) }

func (f *flow) nested(order *Order, depth int) (string, bool) {
	f.spaces()
	switch {
	case f.i == len(f.s) || depth > maxDepth:
		return "", false
	case f.s[f.i] == '{':
		return f.mapping(order, depth)
	case f.s[f.i] == '[':
		return f.list(order, depth)
	}
	return f.scalar()
}

func (f *flow) spaces() { f.i = len(f.s) - len(strings.TrimLeft(f.s[f.i:], " \t")) }

// next reads a character, after spaces.
func (f *flow) next(c byte) bool {
	if f.spaces(); f.i < len(f.s) && f.s[f.i] == c {
		f.i++
		return true
	}
	return false
}

func (f *flow) list(order *Order, depth int) (string, bool) {
	f.i++ // the bracket
	var items []string
	for !f.next(']') {
		item, ok := f.nested(order, depth+1)
		if !ok || !f.next(',') && !f.ahead(']') {
			return "", false
		}
		items = append(items, item)
	}
	return "[" + strings.Join(items, ", ") + "]", true
}

// ahead reports whether a character follows.
func (f *flow) ahead(c byte) bool { return f.i < len(f.s) && f.s[f.i] == c }

func (f *flow) mapping(order *Order, depth int) (string, bool) {
	f.i++ // the brace
	type field struct{ name, text string }
	var fields []field
	for !f.next('}') {
		f.spaces()
		key := keyText(f.s[f.i:])
		f.i += len(key)
		if key == "" || !f.next(':') {
			return "", false
		}
		name := strings.Trim(key, `"'`)
		value, ok := f.nested(order.of(name), depth+1)
		if !ok || !f.next(',') && !f.ahead('}') {
			return "", false
		}
		fields = append(fields, field{name, key + ": " + value})
	}
	slices.SortStableFunc(fields, func(a, b field) int { return order.rank(a.name) - order.rank(b.name) })
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.text
	}
	return "{" + strings.Join(texts, ", ") + "}", true
}

// scalar reads a value without brackets. It gives up where YAML could read the text in another way.
func (f *flow) scalar() (string, bool) {
	if q := f.s[f.i]; q == '"' || q == '\'' {
		text, ok := quoted(f.s[f.i:])
		f.i += len(text)
		return text, ok
	}
	end := strings.IndexAny(f.s[f.i:], ",[]{}")
	if end < 0 {
		return "", false
	}
	text := strings.TrimRight(f.s[f.i:f.i+end], " \t")
	if c := f.s[f.i+end]; text == "" || c == '[' || c == '{' || strings.Contains(text, ": ") ||
		strings.HasSuffix(text, ":") || strings.Contains(text, "#") || strings.ContainsAny(text[:1], "?&*!|>%@`-:\"'") {
		return "", false
	}
	f.i += len(text)
	return text, true
}

// quoted returns the text in quotes that s begins with.
func quoted(s string) (text string, ok bool) {
	q := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case q == '"' && s[i] == '\\':
			i++
		case s[i] == q && q == '\'' && i+1 < len(s) && s[i+1] == q:
			i++
		case s[i] == q:
			return s[:i+1], true
		}
	}
	return "", false
}

// keyText returns the key that a text begins with: in quotes, or letters as names of fields have them.
func keyText(s string) string {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		key, _ := quoted(s)
		return key
	}
	end := strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	})
	return s[:max(0, end)]
}
