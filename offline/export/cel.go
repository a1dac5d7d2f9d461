package export

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// str returns a string as a CEL literal. The escapes that it uses are also valid in Go.
func str(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case unicode.IsControl(c):
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// set returns a map literal with the strings as keys. A lookup has the same cost for any number of keys.
func set(keys []string) string {
	var pairs []string
	for i, k := range keys {
		if !slices.Contains(keys[:i], k) { // a literal with a duplicate key is invalid
			pairs = append(pairs, str(k)+":true")
		}
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// cel returns an expression from a template. It removes line breaks and tabs, and replaces names such as $list by
// expressions.
func cel(template string, replacements ...string) string {
	return strings.NewReplacer(append([]string{"\n", "", "\t", ""}, replacements...)...).Replace(template)
}

// bind returns an expression in which name has the value of another expression.
func bind(name, value, in string) string { return "[" + value + "].map(" + name + "," + in + ")[0]" }

// anyOf returns the disjunction of conditions. Without conditions, it returns false.
func anyOf(conditions ...string) string { return join(conditions, "||", "false") }

// allOf returns the conjunction of conditions. Without conditions, it returns true.
func allOf(conditions ...string) string { return join(conditions, "&&", "true") }

func join(conditions []string, operator, none string) string {
	var kept []string
	for _, c := range conditions {
		if c != "" {
			kept = append(kept, "("+c+")")
		}
	}
	switch len(kept) {
	case 0:
		return none
	case 1:
		return strings.TrimSuffix(strings.TrimPrefix(kept[0], "("), ")")
	}
	return strings.Join(kept, operator)
}

// choose returns an expression that selects one of two values by a condition.
func choose(condition, then, otherwise string) string {
	return "((" + condition + ")?(" + then + "):(" + otherwise + "))"
}

// sum returns the concatenation of lists. Without lists, it returns an empty list.
func sum(lists ...string) string {
	if len(lists) == 0 {
		return "[]"
	}
	return strings.Join(lists, "+")
}

// globs returns a condition that one of the patterns of a policy matches the value of an expression. In a pattern, *
// matches any number of characters.
func globs(patterns []string, value string) string {
	var exact, wild []string
	for _, p := range patterns {
		if strings.Contains(p, "*") {
			wild = append(wild, globRegex(p))
		} else {
			exact = append(exact, p)
		}
	}
	var conditions []string
	if len(exact) > 0 {
		conditions = append(conditions, value+" in "+set(exact))
	}
	if len(wild) > 0 {
		conditions = append(conditions, value+".matches("+str(whole(wild))+")")
	}
	return anyOf(conditions...)
}

// globRegex returns a pattern of a policy as a regular expression, without anchors.
func globRegex(pattern string) string {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return strings.Join(parts, ".*")
}

// whole returns a regular expression that matches the whole value if one of the given expressions does. The API
// server uses Go's regular expressions.
func whole(regexes []string) string { return `\A(?s:` + strings.Join(regexes, "|") + `)\z` }

// number returns a number as a CEL literal.
func number(n int) string { return strconv.Itoa(n) }
