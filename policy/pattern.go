package policy

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/evergate/evergate/internal/text"
)

// regex is a regular expression of a policy file, in Go's syntax (RE2: no backtracking, so that no value takes long).
// The rule is the same wherever one stands: it must cover the whole value, as if it stood between ^ and $, upper and
// lower case differ, and a dot covers newlines too. To find something inside a value write .*something.*
type regex struct {
	source  string
	literal string // all that it covers begins with this; may be empty
	re      *regexp.Regexp
	size    int // about the instructions of its program
}

// UnmarshalText compiles a regular expression. An empty one would cover nothing but the empty value, and look like
// one that covers all.
func (x *regex) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New(`an empty regular expression covers only the empty value: write ".*" for everything`)
	}
	source := string(b)
	if strings.ContainsFunc(source, unicode.IsControl) {
		// It stands in sentences, and the API server drops a warning that holds a control character.
		return errors.New(`a regular expression holds no control characters: write \n for a newline, \t for a tab`)
	}
	// Parsed bare first: the sentence then speaks of what the user wrote, and a stray bracket cannot pair with ours.
	// What is parsed is small, while a few bytes, such as .{1000}, compile into a thousand steps.
	tree, err := parseRegex(source)
	if err != nil {
		return err
	}
	steps := regexSteps(tree)
	if steps > maxRegexSteps {
		return fmt.Errorf("a regular expression of %s steps: it has at most %s; a repetition such as .{1000} is a thousand",
			text.Thousands(steps), text.Thousands(maxRegexSteps))
	}
	re, err := regexp.Compile(`\A(?s:` + source + `)\z`)
	if err != nil {
		return notRegex(err)
	}
	*x = regex{source, literalPrefix(tree), re, steps}
	return nil
}

// steps is how many steps it takes to compare x with a value: one for each byte, and another one for each regexSize
// instructions of the program, since all of its threads may be alive at once.
func (x *regex) steps(value string) int {
	if !strings.HasPrefix(value, x.literal) {
		return 1
	}
	return 1 + len(value) + len(value)*x.size/regexSize
}

// regexSize is how many instructions of a program a step executes, on average of texts in which none of them stops early.
const regexSize = 20

// match says whether x covers the whole of s.
func (x *regex) match(s string) bool { return strings.HasPrefix(s, x.literal) && x.re.MatchString(s) }

// prefix returns text that every value begins with that x covers; empty where none is known.
func (x *regex) prefix() string { return x.literal }

func (x *regex) String() string { return x.source }

// maxRegexSteps is how many steps one regular expression can have. [a-z0-9]{1,63} has 126, and a host name of 253
// characters twice as many as those.
const maxRegexSteps = 2000

// Cost implements strict.Costly: the steps of the expression, also if it is refused for their number, since to find
// that out takes as much.
func (*regex) Cost(b []byte) int {
	tree, err := parseRegex(string(b))
	if err != nil {
		return 0
	}
	return regexSteps(tree)
}

func parseRegex(s string) (*syntax.Regexp, error) {
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, notRegex(err)
	}
	return tree, nil
}

func notRegex(err error) error {
	msg, inside, quoted := strings.Cut(strings.TrimPrefix(err.Error(), "error parsing regexp: "), ": `")
	if !quoted {
		return fmt.Errorf("not a regular expression: %s", msg)
	}
	return fmt.Errorf("not a regular expression: %s: `%s", msg, text.Truncate(inside, maxRegexShown))
}

// maxRegexShown is how much of an expression its error shows, which is mostly the part that is wrong.
const maxRegexShown = 200

// regexSteps returns about how many instructions an expression compiles into, which is what it costs to compile, to
// keep and, for each byte of a value, to match. A range of characters takes as much memory as a fifth of an
// instruction.
func regexSteps(re *syntax.Regexp) int {
	steps := 0
	for _, sub := range re.Sub {
		steps += regexSteps(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		steps = len(re.Rune)
	case syntax.OpConcat:
	case syntax.OpRepeat:
		times := max(1, re.Max)
		if re.Max < 0 {
			times = re.Min + 1 // x{2,} is x twice, and once more in a loop
		}
		steps = times*steps + max(0, re.Max-re.Min) // x{1,3} is x(x(x)?)?
	default:
		steps += 1 + len(re.Rune)/10
	}
	return min(steps, math.MaxInt32) // of a nested repetition, whose product would overflow
}

// literalPrefix returns what all begins with that an expression covers, or a part of it.
func literalPrefix(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		return literalPrefix(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literalPrefix(re.Sub[0])
		}
	}
	return ""
}
