package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// spliceKey starts the key of an entry that adds all entries of a value to a mapping. The path of the value follows.
const spliceKey = "\x00"

// expr is the content of a field that comes from a value of the chart.
type expr struct {
	path string // of the value
	kind kind
	// with omits the field if the value is empty. A list or a mapping adds its elements to the field.
	with bool
	// or is the content if the value is empty.
	or string
}

// single writes an entry that is not a mapping or a list with elements.
func (e *emitter) single(indent int, prefix string, value any) {
	switch v := value.(type) {
	case expr:
		e.value(indent, prefix, v)
	case map[string]any:
		if len(v) == 0 {
			e.line(indent, prefix+" {}")
			return
		}
		e.spliceOnly(indent, prefix, v)
	case []any:
		if len(v) == 1 { // an element that adds the elements of a value
			e.value(indent, prefix, v[0].(expr))
			return
		}
		e.line(indent, prefix+" []")
	default:
		text, block := scalar(value)
		e.line(indent, prefix+" "+text)
		for _, line := range block {
			if line == "" {
				e.line(0, "")
			} else {
				e.line(column(indent, prefix)+2, line)
			}
		}
	}
}

// spliceOnly writes an entry that does not exist if a value is empty. The entry is a mapping with only the entries of
// the value, or a mapping with only such a mapping.
func (e *emitter) spliceOnly(indent int, prefix string, v map[string]any) {
	inner := column(indent, prefix)
	lines := []string{strings.Repeat(" ", indent) + prefix}
	for {
		inner += 2
		for key, child := range v { // the only entry
			if x, ok := child.(expr); ok {
				e.line(indent, "{{- with .Values."+x.path+" }}")
				e.lines = append(e.lines, lines...)
				e.line(inner, fmt.Sprintf("{{- toYaml . | nindent %d }}", inner))
				e.line(indent, "{{- end }}")
				return
			}
			lines = append(lines, strings.Repeat(" ", inner)+quoteKey(key)+":")
			v = child.(map[string]any)
		}
	}
}

// value writes an entry with the content of a value.
func (e *emitter) value(indent int, prefix string, x expr) {
	ref, dot := ".Values."+x.path, ".Values."+x.path
	if x.with {
		e.line(indent, "{{- with "+ref+" }}")
		dot = "."
	}
	switch {
	case prefix == "-": // an element that adds the elements of a value
		e.line(indent, fmt.Sprintf("{{- toYaml %s | nindent %d }}", dot, indent))
	case x.or != "":
		e.line(indent, fmt.Sprintf("%s {{ %s | default %q | quote }}", prefix, dot, x.or))
	case x.kind == stringKind:
		e.line(indent, fmt.Sprintf("%s {{ %s | quote }}", prefix, dot))
	case x.kind == intKind:
		e.line(indent, fmt.Sprintf("%s {{ %s }}", prefix, dot))
	default:
		e.line(indent, prefix)
		inner := column(indent, prefix)
		if x.kind == mappingKind {
			inner += 2
		}
		e.line(inner, fmt.Sprintf("{{- toYaml %s | nindent %d }}", dot, inner))
	}
	if x.with {
		e.line(indent, "{{- end }}")
	}
}

// splice writes the entries of a value into a mapping.
func (e *emitter) splice(indent int, values []any, in rows) {
	for i, v := range values {
		if in.has(i) {
			x := v.(expr)
			e.line(indent, "{{- with .Values."+x.path+" }}")
			e.line(indent, fmt.Sprintf("{{- toYaml . | nindent %d }}", indent))
			e.line(indent, "{{- end }}")
			return
		}
	}
}

// isExpr reports whether a field comes from a value of the chart.
func isExpr(values []any, in rows) bool {
	for i, v := range values {
		if _, ok := v.(expr); ok && in.has(i) {
			return true
		}
	}
	return false
}

// isMapping reports whether a value is a mapping with entries that are always there.
func isMapping(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	return len(m) > 0 && !isSpliceOnly(m)
}

// splices returns the values whose entries a mapping consists of, if it has no others.
func splices(all []class) []string {
	var paths []string
	m := all[0].value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !isSplice(key) || len(all) > 1 {
			return nil
		}
		paths = append(paths, ".Values."+m[key].(expr).path)
	}
	return paths
}

// isSpliceOnly reports whether a mapping has only the entries of a value, or only such a mapping.
func isSpliceOnly(m map[string]any) bool {
	for key, v := range m {
		inner, ok := v.(map[string]any)
		if !isSplice(key) && (!ok || !isSpliceOnly(inner)) {
			return false
		}
	}
	return len(m) == 1
}

func isSplice(key string) bool { return strings.HasPrefix(key, spliceKey) }

// isList reports whether a value is a list with elements that are always there.
func isList(v any) bool {
	list, ok := v.([]any)
	return ok && slices.ContainsFunc(list, func(v any) bool { _, ok := v.(expr); return !ok })
}

func isPlain(v any) bool {
	switch v.(type) {
	case expr, map[string]any, []any:
		return false
	}
	return true
}
