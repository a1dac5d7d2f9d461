package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// maxHost is how long a host can be (RFC 1035).
const maxHost = 253

// hostPattern is a set of hosts, as DNS compares them: upper and lower case and a trailing dot make no difference.
//
//	a.example     that host
//	*.example     every host one label below example: a.example, but not b.a.example, nor example itself
//	**.example    every host one or more labels below example
//	**            every host
//
// The hosts of Ingresses and of certificates are patterns too, of the first two kinds; and an Ingress without a host
// is the last.
type hostPattern struct {
	name  string // in lower case, without trailing dot, without the stars; empty for **
	depth hostDepth
}

// hostDepth says which hosts below its name a pattern covers.
type hostDepth uint8

const (
	hostItself hostDepth = iota
	oneLabelBelow
	labelsBelow
)

// everyHost returns the pattern **, which is what an Ingress without a host answers for.
func everyHost() hostPattern { return hostPattern{depth: labelsBelow} }

// isEvery reports whether p is the pattern **.
func (p hostPattern) isEvery() bool { return p == everyHost() }

// UnmarshalText accepts the patterns of policy files.
func (p *hostPattern) UnmarshalText(b []byte) error {
	if err := checkHostPattern(string(b)); err != nil {
		return fmt.Errorf("%s is not a host pattern: %w", text.Quote(b), err)
	}
	*p = parseHost(string(b))
	return nil
}

// parseHost reads the host of an object, or a pattern that has been checked. Whatever is no pattern is taken for the
// name of a host that no pattern names.
func parseHost(s string) hostPattern {
	s = lowerASCII(strings.TrimSuffix(s, "."))
	if s == "" || s == "*" || s == "**" {
		return everyHost()
	}
	if name, ok := strings.CutPrefix(s, "**."); ok {
		return hostPattern{name, labelsBelow}
	}
	if name, ok := strings.CutPrefix(s, "*."); ok {
		return hostPattern{name, oneLabelBelow}
	}
	return hostPattern{s, hostItself}
}

// String is the pattern as it is written.
func (p hostPattern) String() string {
	switch {
	case p.isEvery():
		return "**"
	case p.depth == hostItself:
		return p.name
	}
	return p.depth.stars() + "." + p.name
}

// stars is what stands before the name of a pattern.
func (d hostDepth) stars() string {
	return [...]string{hostItself: "", oneLabelBelow: "*", labelsBelow: "**"}[d]
}

// checkHostPattern says what is wrong with a pattern of a policy file.
func checkHostPattern(s string) error {
	switch {
	case s == "":
		return errors.New(`write "**" for every host`)
	case s == "**":
		return nil
	case s == "*":
		return errors.New(`* stands for one label: write "**" for every host`)
	case strings.ContainsAny(s, "/:"):
		return errors.New("leave scheme, port and path out")
	}
	name, deep := strings.CutPrefix(s, "**.")
	if !deep {
		name = strings.TrimPrefix(s, "*.")
	}
	if strings.Contains(name, "*") {
		return errors.New("* is one whole label and ** several, in front only: *.example.com, **.example.com")
	}
	return checkHostName(strings.TrimSuffix(name, "."))
}

// checkHostName says why a name cannot be the name of a host (RFC 1123).
func checkHostName(name string) error {
	if len(name) > maxHost {
		return fmt.Errorf("it has %d characters, a host has at most %d", len(name), maxHost)
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return errors.New("it has an empty label")
		case len(label) > 63:
			return fmt.Errorf("the label %s has %d characters, a label has at most 63", text.Quote(label), len(label))
		case label[0] == '-' || label[len(label)-1] == '-':
			return fmt.Errorf("the label %s begins or ends with -", text.Quote(label))
		case strings.ContainsFunc(label, isNotHostRune):
			return fmt.Errorf("the label %s holds another character than letters, digits and - "+
				"(other scripts are written as xn--…)", text.Quote(label))
		}
	}
	return nil
}

func isNotHostRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
}

// lowerASCII lowers the letters that DNS lowers and no others: strings.ToLower would turn the Kelvin sign into a k.
func lowerASCII(s string) string {
	for i := range len(s) {
		if s[i]-'A' <= 'Z'-'A' { // bytes below A wrap around
			return strings.Map(func(r rune) rune {
				if 'A' <= r && r <= 'Z' {
					return r + 'a' - 'A'
				}
				return r
			}, s)
		}
	}
	return s
}

// parentHost returns what stands after the first label; empty when there is nothing.
func parentHost(name string) string {
	_, parent, _ := strings.Cut(name, ".")
	return parent
}
