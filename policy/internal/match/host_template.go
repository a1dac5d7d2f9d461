package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// NamespacePlaceholder is the label of a HostTemplate that stands for the namespace of an object.
const NamespacePlaceholder = "{namespace}"

// HostTemplate is a HostPattern, or one that has the placeholder {namespace} for one of its labels. It covers hosts for
// a namespace: those that have the namespace as this label, and otherwise are as the pattern says.
//
//	{namespace}.corp.example         team.corp.example for the namespace team
//	*.{namespace}.apps.corp.example  every host one label below team.apps.corp.example
//
// A namespace is compared with the label. It never becomes text of a pattern, so that a namespace of a file that is no
// DNS label, such as * or a.b, covers nothing; nor does an absent one.
type HostTemplate struct {
	// before is the pattern, or what stands before the placeholder: **.shop of **.shop.{namespace}.example. An empty name
	// means no label.
	before HostPattern
	// after is what stands behind the placeholder, with the dot: .corp.example.
	after       string
	placeholder bool
}

// UnmarshalText accepts the forms of a HostPattern, with one label {namespace} or without.
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

// checkHostTemplate returns an error for a text that is not a template of a policy file.
func checkHostTemplate(s string) error {
	before, after, found := strings.Cut(s, NamespacePlaceholder)
	switch {
	case strings.ContainsAny(s, "/:"):
		return checkHostPattern(s)
	case strings.ContainsAny(strings.ReplaceAll(s, NamespacePlaceholder, ""), "{}"):
		return errors.New("braces stand only in {namespace}, one whole label: *.{namespace}.apps.example.com")
	case strings.Contains(after, NamespacePlaceholder):
		return errors.New("it has {namespace} twice: write it once, as in *.{namespace}.apps.example.com")
	case found && (before != "" && !strings.HasSuffix(before, ".") || after != "" && !strings.HasPrefix(after, ".")):
		return errors.New("{namespace} is one whole label, since two namespaces could share a host otherwise: " +
			"*.{namespace}.apps.example.com")
	case found && strings.TrimSuffix(after, ".") == "":
		return errors.New("{namespace} is its last label, and a namespace may be called com: write a domain behind it, " +
			"as in *.{namespace}.apps.example.com")
	case found: // its other labels; no namespace is shorter than a character
		return checkHostPattern(before + "x" + after)
	}
	return checkHostPattern(s)
}

// HasPlaceholder reports whether the template has the placeholder: otherwise it covers the same hosts for every
// namespace.
func (t HostTemplate) HasPlaceholder() bool { return t.placeholder }

// String returns the template as policy files have it.
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

// Widest returns a pattern that covers what the template covers for all namespaces together, the most exact one.
func (t HostTemplate) Widest() HostPattern {
	switch {
	case !t.placeholder:
		return t.before
	case t.before == HostPattern{} && t.after != "":
		return HostPattern{t.after[1:], OneLabelBelow}
	}
	return HostPattern{strings.TrimPrefix(t.after, "."), LabelsBelow}
}

// Shares reports whether two templates cover one host for two different namespaces, and returns the namespace for which
// the template whose placeholder is further to the right covers it.
//
// A template alone never does, nor do two whose placeholders have equally many labels behind them: they compare the
// same label of a host with the namespace.
func (t HostTemplate) Shares(u HostTemplate) (namespace string, ok bool) {
	if strings.Count(t.after, ".") > strings.Count(u.after, ".") {
		t, u = u, t
	}
	if !t.placeholder || !u.placeholder || !strings.HasSuffix(u.after, t.after) || t.after == u.after {
		return "", false
	}
	// The labels of u where t has its placeholder, and further to the left, from right to left: literals of u, its
	// placeholder, and what stands before that.
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

// labelsFromRight returns the labels of a name from the last to the first, without empty ones.
func labelsFromRight(name string) []string {
	var labels []string
	for label := range strings.SplitSeq(strings.TrimSuffix(reversedLabels(name), "."), ".") {
		if label != "" {
			labels = append(labels, label)
		}
	}
	return labels
}

// lengthsMeet reports whether a host can have as many labels as two patterns of a and b labels beside the stars cover.
func lengthsMeet(a int, aDepth HostDepth, b int, bDepth HostDepth) bool {
	if aDepth != HostItself {
		a++
	}
	if bDepth != HostItself {
		b++
	}
	return a == b || a < b && aDepth == LabelsBelow || b < a && bDepth == LabelsBelow
}

// HostTemplates is a set of templates. A look-up compares each label of a host with the namespace, and where they are
// equal hashes what stands behind it, and looks what stands before it up in a HostSet: however many templates there
// are. A nil set is empty.
type HostTemplates struct {
	patterns *HostSet            // the templates without a placeholder
	before   map[string]*HostSet // by what stands behind the placeholder
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

// Patterns returns the templates without a placeholder, which cover hosts for every namespace.
func (s *HostTemplates) Patterns() *HostSet { return s.patterns }

// CoversIn reports whether a template with a placeholder covers, for a namespace, every host that p stands for.
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

// coversBefore is Covers for what stands before a placeholder: labels with a dot behind each, or none.
func (s *HostSet) coversBefore(labels string, depth HostDepth) bool {
	if s == nil || labels == "." || strings.HasSuffix(labels, "..") { // an empty label, which no host has, is not none
		return false
	}
	p := HostPattern{strings.TrimSuffix(labels, "."), depth}
	if p == (HostPattern{}) {
		return s.Has(p)
	}
	_, ok := s.Covers(p)
	return ok
}

// isNamespace reports whether a text can be the name of a namespace: a DNS label (RFC 1123) in lower case.
func isNamespace(s string) bool {
	return s != "" && s == LowerASCII(s) && !strings.Contains(s, ".") && CheckHostName(s) == nil
}
