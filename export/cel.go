package export

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// str returns a text as a literal of CEL. Its escapes are a part of Go's.
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

// set returns a map literal with the texts as its keys. What is looked up in it costs the same, however many there are.
func set(keys []string) string {
	var pairs []string
	for i, k := range keys {
		if !slices.Contains(keys[:i], k) { // twice, a literal is none
			pairs = append(pairs, str(k)+":true")
		}
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// bind returns an expression in which name stands for the value of another expression.
func bind(name, value, in string) string { return "[" + value + "].map(" + name + "," + in + ")[0]" }

// any returns the disjunction of conditions; false for none.
func anyOf(conditions ...string) string { return join(conditions, "||", "false") }

// all returns the conjunction of conditions; true for none.
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

// choose returns one of two values by a condition.
func choose(condition, then, otherwise string) string {
	return "((" + condition + ")?(" + then + "):(" + otherwise + "))"
}

// sum returns the concatenation of lists; an empty list for none.
func sum(lists ...string) string {
	if len(lists) == 0 {
		return "[]"
	}
	return strings.Join(lists, "+")
}

// globs returns whether one of the patterns of a policy matches the value of an expression, in which * is any run of
// characters.
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

// whole returns a regular expression that matches the values that one of others matches from end to end. The API server
// has the regular expressions of Go.
func whole(regexes []string) string { return `\A(?s:` + strings.Join(regexes, "|") + `)\z` }

// number returns a number as CEL has it.
func number(n int) string { return strconv.Itoa(n) }
