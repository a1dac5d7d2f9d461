package match

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/evergate/evergate/internal/text"
)

// Regex is a regular expression of a policy file, in Go's syntax (RE2). RE2 does not backtrack, so the cost of matching
// a value is bounded. The expression must match the whole value, as if it were between ^ and $. Upper and lower case
// differ, and a dot also matches newlines. To find text inside a value, users write .*something.*
type Regex struct {
	source  string
	literal string // a prefix of every value that the expression matches; may be empty
	re      *regexp.Regexp
	size    int // approximate number of instructions of the program
}

// UnmarshalText compiles a regular expression of at most MaxRegexSteps. It returns an error for characters that do not
// print and for the empty expression, which would match only the empty value but look as if it matches everything.
func (x *Regex) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New(`an empty regular expression covers only the empty value: write ".*" for everything`)
	}
	source := string(b)
	if c, found := Unprintable(b); found { // messages show the expression: see RejectUnprintable
		return fmt.Errorf(`a regular expression must not contain %U, which does not print: write \x{%X}`, c, c)
	}
	// Parse the bare expression first. The error is then about the text of the user, and a stray bracket cannot pair with
	// the brackets that are added below. Parsing is cheap, but compiling is not: a short text such as .{1000} compiles
	// into a thousand steps.
	tree, err := parseRegex(source)
	if err != nil {
		return err
	}
	steps := regexSteps(tree)
	if steps > MaxRegexSteps {
		return fmt.Errorf("a regular expression of %s steps: it has at most %s; "+
			"a repetition such as .{1000} is a thousand", text.Thousands(steps), text.Thousands(MaxRegexSteps))
	}
	re, err := regexp.Compile(`\A(?s:` + source + `)\z`)
	if err != nil {
		return notRegex(err)
	}
	*x = Regex{source, literalPrefix(tree), re, steps}
	return nil
}

// MaxRegexValue is the maximum number of characters of a value that a regular expression is compared with. No longer
// value passes, so a value of a tenant cannot cost more than a comparison of this length. Values that controllers read
// are shorter. CEL counts characters too.
const MaxRegexValue = 1024

func isTooLong(value string) bool {
	return len(value) > maxRegexBytes || len(value) > MaxRegexValue && utf8.RuneCountInString(value) > MaxRegexValue
}

const (
	// maxRegexBytes is the maximum number of bytes in MaxRegexValue characters.
	maxRegexBytes = utf8.UTFMax * MaxRegexValue
	// countedBytes is the number of bytes in which one step counts the characters.
	countedBytes = 32
	// regexSize is the number of instructions of a program that one step executes, which take at most 70 ns.
	regexSize = 10
)

// Steps returns how many steps it takes to compare x with a value. Each byte takes one step, and another step for every
// regexSize instructions of the program, because all of its threads may be active at the same time.
func (x *Regex) Steps(value string) int {
	switch {
	case isTooLong(value):
		return 1 + min(len(value), maxRegexBytes)/countedBytes
	case !strings.HasPrefix(value, x.literal):
		return 1
	}
	return 1 + len(value) + len(value)*x.size/regexSize
}

// Passes reports whether a value passes. It must match x, or must not match x if x is denied. No value that is longer
// than MaxRegexValue passes.
func (x *Regex) Passes(value string, denied bool) bool {
	return !isTooLong(value) && x.re.MatchString(value) != denied
}

// Reason returns the sentence about a value that does not pass.
func (x *Regex) Reason(value string, denied bool) string {
	switch {
	case isTooLong(value):
		return text.Quote(value) + " is too long: more than " + text.Thousands(MaxRegexValue) +
			" characters, the limit for regular expressions"
	case denied:
		return text.Quote(value) + " matches " + x.source + ", which is denied"
	default:
		return text.Quote(value) + " does not match " + x.source
	}
}

// Prefix returns a prefix of every value that x matches, or an empty string if no prefix is known.
func (x *Regex) Prefix() string { return x.literal }

// String returns the expression as it is written in the policy.
func (x *Regex) String() string { return x.source }

// MaxRegexSteps is the maximum number of steps of one regular expression, as Cost counts them. [a-z0-9]{1,63} has about
// 125 steps. The same expression for a host name of 253 characters has about 500.
const MaxRegexSteps = 2000

// Cost returns the number of steps of an expression before it is compiled. Decoders use it to bound the steps of a
// whole policy. It may return more than MaxRegexSteps. It returns 0 for a text that does not parse.
func (*Regex) Cost(b []byte) int {
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

// maxRegexShown is the maximum number of bytes of an expression that an error shows. They are usually the part that is
// wrong.
const maxRegexShown = 200

// regexSteps returns about how many instructions an expression compiles into. This number is the cost of compiling the
// expression, of keeping it in memory and of matching each byte of a value. A range of characters takes as much memory
// as a fifth of an instruction.
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
			times = re.Min + 1 // x{2,} is x twice, and x again in a loop
		}
		steps = times*steps + max(0, re.Max-re.Min) // x{1,3} is x(x(x)?)?
	default:
		steps += 1 + len(re.Rune)/10
	}
	return min(steps, math.MaxInt32) // the product of nested repetitions would overflow
}

// literalPrefix returns a literal with which every match of an expression begins, or an empty string if it does not
// find one.
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
