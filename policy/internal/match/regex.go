package match

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

// Regex is a regular expression of a policy file, in Go's syntax (RE2: without backtracking, so that the cost of a
// value is bounded). In every field it must match the whole value, as if it stood between ^ and $; upper and lower case
// differ, and a dot matches newlines too. To find something inside a value, users write .*something.*
type Regex struct {
	source  string
	literal string         // what every value that it matches begins with; may be empty
	fast    *automaton     // nil where it would be too large
	re      *regexp.Regexp // nil where there is fast
	size    int            // of its program, about, in instructions
}

// UnmarshalText compiles a regular expression of at most MaxRegexSteps. It refuses the empty one, which would match
// nothing but the empty value and look like one that matches everything, and control characters.
func (x *Regex) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New(`an empty regular expression covers only the empty value: write ".*" for everything`)
	}
	source := string(b)
	if strings.ContainsFunc(source, unicode.IsControl) {
		// Sentences show it, and the API server drops a warning that contains a control character.
		return errors.New(`a regular expression holds no control characters: write \n for a newline, \t for a tab`)
	}
	// The bare expression is parsed first: the error is then about what the user wrote, and a stray bracket cannot pair
	// with those added below. Parsing is cheap, while a short text such as .{1000} compiles into a thousand steps.
	tree, err := parseRegex(source)
	if err != nil {
		return err
	}
	steps := regexSteps(tree)
	if steps > MaxRegexSteps {
		return fmt.Errorf("a regular expression of %s steps: it has at most %s; "+
			"a repetition such as .{1000} is a thousand", text.Thousands(steps), text.Thousands(MaxRegexSteps))
	}
	*x = Regex{source: source, literal: literalPrefix(tree), size: steps}
	if tree, err = parseRegex(`(?s:` + source + `)`); err != nil {
		return err
	}
	if x.fast = newAutomaton(tree, steps); x.fast != nil {
		return nil
	}
	if x.re, err = regexp.Compile(`\A(?s:` + source + `)\z`); err != nil {
		return notRegex(err)
	}
	return nil
}

// Steps returns how many steps it takes to compare x with a value: one for automatonBytes bytes. Without an automaton
// it is one for each byte, and another one for each byte and regexSize instructions of the program, since all of its
// threads may be alive at once.
func (x *Regex) Steps(value string) int {
	switch {
	case !strings.HasPrefix(value, x.literal):
		return 1
	case x.fast != nil:
		return 1 + len(value)/automatonBytes
	}
	return 1 + len(value) + len(value)*x.size/regexSize
}

// regexSize is how many instructions of a program one step executes, on average of texts in which no thread ends early.
const regexSize = 20

// automatonBytes is how many bytes an automaton reads in one step. Ten expressions on 256 KiB, which is what the API
// server takes of all annotations of an object, are two thirds of the steps that an object may take.
const automatonBytes = 4

// Match reports whether x matches the whole of s.
func (x *Regex) Match(s string) bool {
	switch {
	case !strings.HasPrefix(s, x.literal):
		return false
	case x.fast != nil:
		return x.fast.match(s)
	}
	return x.re.MatchString(s)
}

// Prefix returns a text that every value that x matches begins with; empty where none is known.
func (x *Regex) Prefix() string { return x.literal }

// String returns the expression as it is written.
func (x *Regex) String() string { return x.source }

// MaxRegexSteps is the largest number of steps that one regular expression can have, as Cost counts them.
// [a-z0-9]{1,63} has 126, and an expression for a host name of 253 characters has twice as many.
const MaxRegexSteps = 2000

// Cost returns the steps of an expression before it is compiled, so that a decoder can bound those of a whole policy;
// also those of one that UnmarshalText refuses for their number, and 0 for a text that does not parse.
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

// maxRegexShown is how many bytes of an expression its error shows; mostly they are the part that is wrong.
const maxRegexShown = 200

// regexSteps returns about how many instructions an expression compiles into. That is what it costs to compile, to keep
// and, for each byte of a value, to match. A range of characters takes as much memory as a fifth of an instruction.
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

// literalPrefix returns a literal that every match of an expression begins with; empty where it finds none.
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
