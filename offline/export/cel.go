package export

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/evergate/evergate/policy"
)

// cel returns an expression from a template. It removes line breaks and tabs, and replaces names such as $list by
// expressions.
func cel(template string, replacements ...string) string {
	return strings.NewReplacer(append([]string{"\n", "", "\t", ""}, replacements...)...).Replace(template)
}

// str returns a string as a CEL literal.
func str(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
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

// bind returns an expression in which name has the value of another expression.
func bind(name, value, in string) string { return "[" + value + "].map(" + name + "," + in + ")[0]" }

// anyOf returns the disjunction of conditions. It leaves out empty conditions. Without conditions, it returns false.
func anyOf(conditions ...string) string { return join(conditions, "||", "false") }

// allOf returns the conjunction of conditions. It leaves out empty conditions. Without conditions, it returns true.
func allOf(conditions ...string) string { return join(conditions, "&&", "true") }

func join(conditions []string, operator, none string) string {
	var kept []string
	for _, c := range conditions {
		if c != "" {
			kept = append(kept, c)
		}
	}
	switch len(kept) {
	case 0:
		return none
	case 1:
		return kept[0]
	}
	return "(" + strings.Join(kept, ")"+operator+"(") + ")"
}

// choose returns an expression that selects one of two values by a condition.
func choose(condition, then, otherwise string) string {
	return "((" + condition + ")?(" + then + "):(" + otherwise + "))"
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
		conditions = append(conditions, matchesWhole(value, wild...))
	}
	return anyOf(conditions...)
}

// globRegex returns a pattern of a policy as a regular expression, without anchors.
func globRegex(pattern string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
}

// tooLong returns a condition that a value is too long for a regular expression of the policy.
func tooLong(value string) string {
	return "(size(" + value + ")>" + strconv.Itoa(policy.MaxRegexValue) + ")"
}

// matchesWhole returns a condition that one of some regular expressions matches the whole value of an expression. The
// API server uses Go's regular expressions.
func matchesWhole(value string, regexes ...string) string {
	return value + ".matches(" + str(`\A(?s:`+strings.Join(regexes, "|")+`)\z`) + ")"
}

// variable is a variable of a native policy: an expression that is evaluated once, when it is first used. It may use
// only earlier variables.
type variable struct{ name, expression string }

// tokens matches literals, the variable object, and variables of a native policy.
var tokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\bobject\b|\bvariables\.\w+`)

// before returns an expression about the object before an update. named contains the variables about the object. The
// same variables about the old object have the suffix _before.
func before(expression string, named map[string]bool) string {
	return tokens.ReplaceAllStringFunc(expression, func(token string) string {
		name, isVariable := strings.CutPrefix(token, "variables.")
		switch {
		case token == "object":
			return "oldObject"
		case isVariable && named[name]:
			return token + "_before"
		}
		return token
	})
}

// bothSides adds the variables about the old object that vars does not contain. It also returns the names of the
// variables about the object.
func bothSides(vars []variable) (both []variable, named map[string]bool) {
	named = map[string]bool{}
	for _, v := range vars {
		old := variable{v.name + "_before", before(v.expression, named)}
		switch {
		case slices.ContainsFunc(both, func(o variable) bool { return o.name == old.name }):
			named[v.name] = true
		case old.expression != v.expression:
			both, named[v.name] = append(both, old), true
		}
		both = append(both, v)
	}
	return both, named
}

// referenced returns the variables that expressions use directly or indirectly.
func referenced(vars []variable, by ...string) (kept []variable) {
	used := map[string]bool{}
	use := func(expression string) {
		for _, token := range tokens.FindAllString(expression, -1) {
			used[token] = true
		}
	}
	for _, expression := range by {
		use(expression)
	}
	for _, v := range slices.Backward(vars) {
		if used["variables."+v.name] {
			kept = append(kept, v)
			use(v.expression)
		}
	}
	slices.Reverse(kept)
	return kept
}
