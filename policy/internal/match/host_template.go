package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// NamespacePlaceholder is the label of a HostTemplate that represents the namespace of an object.
const NamespacePlaceholder = "{namespace}"

// HostTemplate is a HostPattern in which one label may be the placeholder {namespace}. A template covers a host for a
// namespace if this label of the host is the namespace and the rest of the host matches the pattern.
//
//	{namespace}.corp.example         team.corp.example for the namespace team
//	*.{namespace}.apps.corp.example  every host one label below team.apps.corp.example
//
// The namespace is compared with the label. It never becomes part of a pattern. A namespace that is not a DNS label,
// such as * or a.b in a file, therefore does not cover any host. An absent namespace does not cover any host either.
type HostTemplate struct {
	// before is the pattern, or the part before the placeholder: **.shop for **.shop.{namespace}.example. An empty name
	// means that this part does not contain a label.
	before HostPattern
	// after is the part after the placeholder, with the dot: .corp.example.
	after       string
	placeholder bool
}

// UnmarshalText accepts the forms of a HostPattern. One label may be {namespace}.
func (t *HostTemplate) UnmarshalText(b []byte) error {
	s := string(b)
	if err := checkHostTemplate(s); err != nil {
		return fmt.Errorf("%s is not a host pattern: %w", text.Quote(s), err)
	}
	*t = parseHostTemplate(s)
	return nil
}

// parseHostTemplate parses a text that checkHostTemplate accepts.
func parseHostTemplate(s string) HostTemplate {
	before, after, found := strings.Cut(s, NamespacePlaceholder)
	if !found {
		return HostTemplate{before: ParseHost(s)}
	}
	p := HostPattern{Name: LowerASCII(before)}
	for _, depth := range []HostDepth{OneLabelBelow, LabelsBelow} {
		if name, ok := strings.CutPrefix(p.Name, depth.stars()+"."); ok {
			p = HostPattern{name, depth}
		}
	}
	p.Name = strings.TrimSuffix(p.Name, ".")
	return HostTemplate{p, LowerASCII(strings.TrimSuffix(after, ".")), true}
}

// checkHostTemplate returns an error if s is not a template of a policy file.
func checkHostTemplate(s string) error {
	before, after, found := strings.Cut(s, NamespacePlaceholder)
	switch {
	case strings.ContainsAny(s, "/:"):
		return checkHostPattern(s)
	case strings.ContainsAny(strings.ReplaceAll(s, NamespacePlaceholder, ""), "{}"):
		return errors.New("the only placeholder is {namespace}, as a whole label: *.{namespace}.apps.example.com")
	case strings.Contains(after, NamespacePlaceholder):
		return errors.New("it has {namespace} twice: write it once, as in *.{namespace}.apps.example.com")
	case found && (before != "" && !strings.HasSuffix(before, ".") || after != "" && !strings.HasPrefix(after, ".")):
		return errors.New("{namespace} must be a whole label, because two namespaces could share a host otherwise: " +
			"*.{namespace}.apps.example.com")
	case found && strings.TrimSuffix(after, ".") == "":
		return errors.New("{namespace} is its last label, and a namespace may be called com: write a domain after it, " +
			"as in *.{namespace}.apps.example.com")
	case found: // check the other labels; x is as short as the shortest namespace
		return checkHostPattern(before + "x" + after)
	}
	return checkHostPattern(s)
}

// HasPlaceholder reports whether the template contains the placeholder. Otherwise, it covers the same hosts for every
// namespace.
func (t HostTemplate) HasPlaceholder() bool { return t.placeholder }

// String returns the template as it is written in policy files.
func (t HostTemplate) String() string {
	switch {
	case !t.placeholder:
		return t.before.String()
	case t.before == HostPattern{}:
		return NamespacePlaceholder + t.after
	case t.before.Name == "":
		return t.before.Depth.stars() + "." + NamespacePlaceholder + t.after
	}
	return t.before.String() + "." + NamespacePlaceholder + t.after
}

// Widest returns the most specific pattern that covers the hosts of the template for all namespaces.
func (t HostTemplate) Widest() HostPattern {
	switch {
	case !t.placeholder:
		return t.before
	case t.before == HostPattern{} && t.after != "":
		return HostPattern{t.after[1:], OneLabelBelow}
	}
	return HostPattern{strings.TrimPrefix(t.after, "."), LabelsBelow}
}

// Shares reports whether two templates cover the same host for two different namespaces. It returns the namespace for
// which the template whose placeholder is further to the right covers the host.
//
// A template does not share a host with itself. Two templates with the same number of labels after their placeholders
// do not share a host either, because both compare the same label of the host with the namespace.
func (t HostTemplate) Shares(u HostTemplate) (namespace string, ok bool) {
	if strings.Count(t.after, ".") > strings.Count(u.after, ".") {
		t, u = u, t
	}
	if !t.placeholder || !u.placeholder || !strings.HasSuffix(u.after, t.after) || t.after == u.after {
		return "", false
	}
	// middle contains the labels of u between its placeholder and t.after, from right to left. The first of them is in the
	// position of t's placeholder. uLeft contains the labels of u to the left of this position.
	middle := labelsFromRight(strings.TrimSuffix(u.after, t.after))
	namespace, middle = middle[0], middle[1:]
	left, uLeft := labelsFromRight(t.before.Name), append(middle, NamespacePlaceholder)
	other := len(middle)
	uLeft = append(uLeft, labelsFromRight(u.before.Name)...)
	for i := range min(len(left), len(uLeft)) {
		if i == other && left[i] == namespace || i != other && left[i] != uLeft[i] {
			return "", false
		}
	}
	return namespace, lengthsMeet(len(left), t.before.Depth, len(uLeft), u.before.Depth)
}

// labelsFromRight returns the labels of name from the last to the first. It omits empty labels.
func labelsFromRight(name string) []string {
	labels := strings.FieldsFunc(name, func(c rune) bool { return c == '.' })
	slices.Reverse(labels)
	return labels
}

// lengthsMeet reports whether two patterns can cover hosts with the same number of labels. a and b are their numbers of
// labels without the stars.
func lengthsMeet(a int, aDepth HostDepth, b int, bDepth HostDepth) bool {
	if aDepth != HostItself {
		a++
	}
	if bDepth != HostItself {
		b++
	}
	return a == b || a < b && aDepth == LabelsBelow || b < a && bDepth == LabelsBelow
}

// HostTemplates is a set of templates. A look-up compares each label of a host with the namespace. If they are equal,
// it hashes the part after the label and searches a HostSet for the part before it. The cost does not depend on the
// number of templates. A nil set is empty.
type HostTemplates struct {
	patterns *HostSet            // the templates without a placeholder
	before   map[string]*HostSet // by the part after the placeholder
	longest  int                 // the length of the longest key of before
}

// NewHostTemplates returns a set of templates.
func NewHostTemplates(templates []HostTemplate) *HostTemplates {
	s := &HostTemplates{patterns: MakeHostSet(len(templates)), before: map[string]*HostSet{}}
	for _, t := range templates {
		set := s.patterns
		if t.placeholder {
			if set = s.before[t.after]; set == nil {
				set = MakeHostSet(1)
				s.before[t.after] = set
			}
			s.longest = max(s.longest, len(t.after))
		}
		set.Add(t.before)
	}
	return s
}

// Patterns returns the templates without a placeholder. They cover the same hosts for every namespace.
func (s *HostTemplates) Patterns() *HostSet { return s.patterns }

// CoversIn reports whether a template with a placeholder covers every host of p for a namespace.
func (s *HostTemplates) CoversIn(namespace string, p HostPattern) bool {
	if s == nil || len(s.before) == 0 || !isNamespace(namespace) {
		return false
	}
	for end := len(p.Name); end > 0 && len(p.Name)-end <= s.longest; {
		start := strings.LastIndexByte(p.Name[:end], '.') + 1
		if p.Name[start:end] == namespace && s.before[p.Name[end:]].coversBefore(p.Name[:start], p.Depth) {
			return true
		}
		end = start - 1
	}
	return false
}

// coversBefore is like Covers, for the part before a placeholder. Each label in labels is followed by a dot, and labels
// may be empty.
func (s *HostSet) coversBefore(labels string, depth HostDepth) bool {
	if s == nil || labels == "." || strings.HasSuffix(labels, "..") { // hosts do not have empty labels
		return false
	}
	p := HostPattern{strings.TrimSuffix(labels, "."), depth}
	if p == (HostPattern{}) {
		return s.Has(p)
	}
	_, ok := s.Covers(p)
	return ok
}

// isNamespace reports whether s can be the name of a namespace, which is a DNS label (RFC 1123) in lower case.
func isNamespace(s string) bool {
	return s != "" && s == LowerASCII(s) && !strings.Contains(s, ".") && CheckHostName(s) == nil
}
