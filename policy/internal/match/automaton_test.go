package match

import (
	"regexp"
	"strings"
	"testing"
)

// expressions contains expressions from policies, and expressions with each of the other operators.
func expressions() []string {
	return []string{
		"a|b", "^a$", "(?i)team-[a-z]+", ".*", "(?-s).*snippet.*", ".*(lua|\\$\\{).*", "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
		"/v[0-9]+/internal(/.*)?", "true|false", "[^x]*", "(?s).+\n.+", "\\d+\\.\\d*", "\\PL*é+", "[\u0080-\uffff]*", ".*x.*y.*3.*",
		"", "(a|$^)*", "(^a|b)*", "a*$", "(a$)?b?", "(?i)ſ|k", "a{2,4}?b", "[[:^alpha:]]*", "x*x*x*y", "(|a)+", "[^\\x00-\\x{10FFFF}]|a",
		"[^,]*(,[^,]+)*", ".*(x3|y3).*", ".*,,.*é.*", "[^é]*",
	}
}

// An automaton matches the same texts as package regexp.
func TestAutomaton(t *testing.T) {
	values := []string{"", "a", "b", "ab", "aab", "aaaab", "x", "xxxy", "axbyc3", "K", "ſ", "\u212a", "é", "éé", "\xff", "a\xc3", "\ufffd", "a\nb",
		"\n", "team-web", "TEAM-Web", "1.", "1.2", "a-b", "-", "${", "lua", "one\nsnippet\ntwo", "/v1/internal/a", "true", "世界", "\x00", "a$",
		strings.Repeat("é,", 64), strings.Repeat("\xff,", 32) + ",,é", strings.Repeat("a,", 32) + "b", "\xe9,\xa9,,é", strings.Repeat("a", 2*searchBytes) + "x3", strings.Repeat("a", 2*searchBytes) + "y3",
		strings.Repeat("-", 2*searchBytes) + "x\xffy3"}
	for _, source := range expressions() {
		compareAutomaton(t, source, values...)
	}
}

// compareAutomaton compares the automaton of an expression, if it has one, with package regexp. An expression that does
// not parse by itself is an error in a policy, even if the parentheses here complete it, so it is not compared.
func compareAutomaton(t *testing.T, source string, values ...string) {
	t.Helper()
	if _, err := parseRegex(source); err != nil {
		return
	}
	re, err := regexp.Compile(`\A(?s:` + source + `)\z`)
	tree, ourErr := parseRegex(`(?s:` + source + `)`)
	if err != nil || ourErr != nil {
		return
	}
	a := newAutomaton(tree, regexSteps(tree))
	if a == nil {
		return
	}
	for _, value := range values {
		if got, want := a.match(value), re.MatchString(value); got != want {
			t.Errorf("%q matches %q: %t, want %t", source, value, got, want)
		}
	}
}

// Expressions in policies have an automaton. Expressions that would need a large automaton, or that contain the
// boundary of a word or of a line, do not have one.
func TestAutomatonSize(t *testing.T) {
	for source, want := range map[string]bool{
		".*_by_lua.*": true, "[a-z0-9]{1,63}": true, strings.Repeat("word|", 100) + "end": true, ".*x.*y.*3.*": true,
		"(a|b)*a(a|b){12}": false, `.*\bx`: false, "(?m)^a": false, strings.Repeat(`[\pL\pN]`, 5): false,
	} {
		x := mustRegex(t, source)
		if got := x.fast != nil; got != want {
			t.Errorf("%s has an automaton: %t, want %t", source, got, want)
		}
		value := strings.Repeat("a", 800)
		if steps := x.Steps(value); want && steps != 201 || !want && steps < 800 {
			t.Errorf("%s: %d steps", source, steps)
		}
	}
}

func FuzzAutomaton(f *testing.F) {
	for _, source := range expressions() {
		f.Add(source, "one\nsnippet")
	}
	f.Add(`)|\`, "one)") // parses only between parentheses
	f.Fuzz(func(t *testing.T, source, value string) {
		if len(source) < 200 && len(value) < 1000 {
			compareAutomaton(t, source, value)
		}
	})
}

func BenchmarkRegex(b *testing.B) {
	for name, source := range map[string]string{
		"exits": ".*x.*y.*3.*", "many exits": "[^x]*(x[^x]+)*", "no exits": ".*(x3|y3).*", "threads": `.*x.*y.*\b3.*`,
	} {
		b.Run(name, func(b *testing.B) {
			var x Regex
			if err := x.UnmarshalText([]byte(source)); err != nil {
				b.Fatal(err)
			}
			for _, unit := range []string{"axbyqaz", "abcdefghijklmnopqrstuvwabcdefghijklmnopqrstuvw", "é"} {
				value := strings.Repeat(unit, MaxRegexValue/len(unit))
				b.Run(unit, func(b *testing.B) {
					b.SetBytes(int64(len(value)))
					for b.Loop() {
						x.Passes(value, false)
					}
				})
			}
		})
	}
}
