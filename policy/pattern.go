package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// regex is a regular expression of a policy file, in Go's syntax (RE2: no backtracking, so that no value takes long).
// The rule is the same wherever one stands: it must cover the whole value, as if it stood between ^ and $, upper and
// lower case differ, and a dot covers newlines too. To find something inside a value write .*something.*
type regex struct {
	source string
	prefix string // all that it covers begins with this; may be empty
	re     *regexp.Regexp
}

// UnmarshalText compiles a regular expression. An empty one would cover nothing but the empty value, and look like
// one that covers all.
func (x *regex) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New(`an empty regular expression covers only the empty value: write ".*" for everything`)
	}
	source := string(text)
	if strings.ContainsFunc(source, unicode.IsControl) {
		// It stands in sentences, and the API server drops a warning that holds a control character.
		return errors.New(`a regular expression holds no control characters: write \n for a newline, \t for a tab`)
	}
	// Compiled bare first: the sentence then speaks of what the user wrote, and a stray bracket cannot pair with ours.
	bare, err := regexp.Compile(source)
	if err != nil {
		return fmt.Errorf("not a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	re, err := regexp.Compile(`\A(?s:` + source + `)\z`)
	if err != nil {
		return fmt.Errorf("not a regular expression: %w", err)
	}
	prefix, _ := bare.LiteralPrefix()
	*x = regex{source, prefix, re}
	return nil
}

// match says whether x covers the whole of s.
func (x *regex) match(s string) bool { return x.re.MatchString(s) }

func (x *regex) String() string { return x.source }
