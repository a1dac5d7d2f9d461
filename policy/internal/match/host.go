package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// MaxHost is the length of the longest host name (RFC 1035), in bytes.
const MaxHost = 253

// HostPattern is a set of hosts. As in DNS, upper and lower case and a trailing dot make no difference. Two patterns
// can be compared with ==.
//
//	a.example     that host
//	*.example     every host one label below example: a.example, but not b.a.example, nor example itself
//	**.example    every host one or more labels below example
//	**            every host
//
// The hosts in Ingresses and certificates are patterns of the first two kinds. An Ingress without a host has the last
// pattern.
type HostPattern struct {
	Name  string // in lower case, without the trailing dot and the stars; empty for **
	Depth HostDepth
}

// HostDepth describes which hosts a pattern covers: the host with its name, or hosts below its name.
type HostDepth uint8

// The depths of a pattern.
const (
	HostItself    HostDepth = iota // name
	OneLabelBelow                  // *.name
	LabelsBelow                    // **.name
)

// EveryHost returns the pattern **, which is also the pattern of an Ingress without a host.
func EveryHost() HostPattern { return HostPattern{Depth: LabelsBelow} }

// IsEvery reports whether p is the pattern **.
func (p HostPattern) IsEvery() bool { return p == EveryHost() }

// UnmarshalText accepts the four forms of a pattern. Every label must be valid in DNS.
func (p *HostPattern) UnmarshalText(b []byte) error {
	if err := checkHostPattern(string(b)); err != nil {
		return fmt.Errorf("%s is not a host pattern: %w", text.Quote(b), err)
	}
	*p = ParseHost(string(b))
	return nil
}

// ParseHost parses the host of an object, which may be any text. If the text is not a pattern, it becomes a host name
// that cannot occur in a policy file. The empty text, * and ** become EveryHost. A text that is too long for a pattern
// is not copied, so it keeps its upper case letters.
func ParseHost(s string) HostPattern {
	if len(s) > len("**.")+MaxHost+len(".") {
		return HostPattern{s, HostItself}
	}
	s = LowerASCII(strings.TrimSuffix(s, "."))
	if s == "" || s == "*" || s == "**" {
		return EveryHost()
	}
	if name, ok := strings.CutPrefix(s, "**."); ok {
		return HostPattern{name, LabelsBelow}
	}
	if name, ok := strings.CutPrefix(s, "*."); ok {
		return HostPattern{name, OneLabelBelow}
	}
	return HostPattern{s, HostItself}
}

// String returns the pattern as it is written in policy files.
func (p HostPattern) String() string {
	switch {
	case p.IsEvery():
		return "**"
	case p.Depth == HostItself:
		return p.Name
	}
	return p.Depth.stars() + "." + p.Name
}

// stars returns the stars in front of the name of a pattern.
func (d HostDepth) stars() string {
	return [...]string{HostItself: "", OneLabelBelow: "*", LabelsBelow: "**"}[d]
}

// checkHostPattern returns an error if s is not a host pattern of a policy file.
func checkHostPattern(s string) error {
	switch {
	case s == "":
		return errors.New(`write "**" for every host`)
	case s == "**":
		return nil
	case s == "*":
		return errors.New(`* matches one label: write "**" for every host`)
	case strings.ContainsAny(s, "/:"):
		return errors.New("leave scheme, port and path out")
	case strings.Contains(s, NamespacePlaceholder):
		return errors.New("{namespace} is supported only in hosts.allowed: write the name, " +
			"or a wildcard")
	}
	name, deep := strings.CutPrefix(s, "**.")
	if !deep {
		name = strings.TrimPrefix(s, "*.")
	}
	if strings.Contains(name, "*") {
		return errors.New("write * for one whole label, or ** for several, only at the start: *.example.com, **.example.com")
	}
	return CheckHostName(strings.TrimSuffix(name, "."))
}

// CheckHostName returns an error if name is not a valid host name (RFC 1123).
func CheckHostName(name string) error {
	if len(name) > MaxHost {
		return fmt.Errorf("it has %d characters, a host has at most %d", len(name), MaxHost)
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return errors.New("it has an empty label")
		case len(label) > 63:
			return fmt.Errorf("the label %s has %d characters, a label has at most 63", text.Quote(label), len(label))
		case label[0] == '-' || label[len(label)-1] == '-':
			return fmt.Errorf("the label %s begins or ends with -", text.Quote(label))
		case !IsAlphanumeric(label, "-"):
			return fmt.Errorf("the label %s has a character other than letters, digits and - "+
				"(write other scripts as xn--…)", text.Quote(label))
		}
	}
	return nil
}

// ParentHost returns the part of name after its first label, or an empty string if name has only one label.
func ParentHost(name string) string {
	_, parent, _ := strings.Cut(name, ".")
	return parent
}
