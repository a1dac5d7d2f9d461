package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Header contains the fields that every entry of a policy has.
type Header struct {
	// Name is unique in the whole policy: lower case letters, digits, - and ., at most 63 characters. Findings and
	// metrics contain it.
	Name entryName `yaml:"name,required"`
	// Mode is the stage of the roll-out. In mode off, the entry is checked for errors and otherwise ignored. In mode
	// audit, findings are recorded in audit annotations and metrics. Mode warn also warns the user, and reports images
	// without rewriting them. Mode enforce denies the request, or rewrites images.
	Mode Mode `yaml:"mode,required"`
	// Match selects the objects to which the entry applies. Each of its fields must cover the object, and a field covers
	// it if any of its elements does. Absent: the entry applies to every object.
	Match *Selector `yaml:"match"`
	// Exclude selects objects to which the entry does not apply, even if they match. One covering field is enough.
	// Absent: no object is excluded.
	Exclude *Selector  `yaml:"exclude"`
	Pos     strict.Pos `yaml:"-"`
	ending

	// resources lists the kinds that an entry for several kinds checks. It is nil if the entry checks every kind.
	resources []string
	// dimensions contains the dimensions of selectors that have a meaning for the entry.
	dimensions Dimensions
	// exempt is set if the exclude has an end date. Excluded objects are then evaluated, and their findings are silenced.
	exempt *endingExclude
	// deniesPods reports, for a rule about workloads, whether the rule denies their Pods in its own mode.
	deniesPods bool
}

// Head returns the header of an entry of any block.
func (h *Header) Head() *Header { return h }

// applies reports whether the entry applies to s, and the reason if it does not. It counts the steps of its selectors.
func (h *Header) applies(s *Subject) (why selectorResult, ok bool) {
	if h.Until.HasEnded(s.Now) {
		return selectorResult{dimension: untilDimension, value: h.Until.text}, false
	}
	if h.resources != nil && !slices.Contains(h.resources, s.Resource) {
		return selectorResult{dimension: kindsDimension, value: s.Resource}, false
	}
	if h.Match != nil {
		if why, ok = h.Match.matches(s); !ok {
			return why, false
		}
	}
	if h.Exclude == nil || h.exempt != nil {
		return selectorResult{}, true
	}
	why, excluded := h.Exclude.excludes(s)
	return why, !excluded
}

// Applies reports whether the entry applies to an object.
func (h *Header) Applies(s *Subject) bool {
	_, ok := h.applies(s)
	return ok
}

// PermanentExclude returns the exclude if it does not end. It returns nil if the entry has no such exclude.
func (h *Header) PermanentExclude() *Selector {
	if h.exempt != nil {
		return nil
	}
	return h.Exclude
}

// ExcludeReason returns why the exclude of the entry excludes an image of a Pod. excluded contains the images of the
// exclude. It returns an empty text if the exclude does not cover the image or has ended.
func (h *Header) ExcludeReason(ref match.Reference, excluded match.ImageSet, s *Subject) (why string) {
	if h.exempt != nil && h.exempt.hasEnded(s.Now) {
		return ""
	}
	if p, ok := excluded.Find(ref); ok {
		why = "exclude.images has " + p.String()
	} else if by, excluded := h.Exclude.excludes(s); excluded {
		why = "exclude." + by.dimension + " has " + by.pattern
	} else {
		return ""
	}
	if h.exempt != nil {
		why += " until " + h.exempt.Until
	}
	if h.Exclude.Reason != "" {
		why += ": " + string(h.Exclude.Reason)
	}
	return why
}

// LimitTo makes the entry apply only to objects of the given resources. It applies to all objects if resources is nil.
func (h *Header) LimitTo(resources []string) { h.resources = resources }

// Weaken sets the mode of a rule about workloads. The findings of a rule in mode enforce report that Pods are denied.
func (h *Header) Weaken(m Mode) { h.deniesPods, h.Mode = h.Mode == Enforce, m }

// ValidateWithoutSelectors is like ValidateFor, without the errors about match and exclude.
func (h *Header) ValidateWithoutSelectors(d Dimensions) error {
	h.dimensions = d
	return h.reject(h.Mode)
}

// ValidateFor returns an error for dimensions of selectors that have no meaning for the kind of the entry. The Validate
// methods of the entries call it.
func (h *Header) ValidateFor(d Dimensions) error {
	h.dimensions, h.exempt = d, newEndingExclude(h.Exclude)
	errs := slices.Concat(d.reject(h.Match, true), d.reject(h.Exclude, false))
	return errors.Join(append(errs, h.reject(h.Mode))...)
}

// entryName is the name of an entry: lower case letters, digits, - and ., at most 63 characters. Metrics and
// annotations can therefore contain it unchanged.
type entryName string

// UnmarshalText returns an error if b is not a name.
func (n *entryName) UnmarshalText(b []byte) error {
	if len(b) == 0 || len(b) > 63 {
		return fmt.Errorf("a name has 1 to 63 characters, this one has %d", len(b))
	}
	for _, c := range b {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return fmt.Errorf("%s is not a name: use only lower case letters, digits, dots and hyphens", text.Quote(b))
		}
	}
	*n = entryName(b)
	return nil
}

// RuleHeader is the header of the entries that check objects: pods, ingresses, services, routes, owners.
type RuleHeader struct { //nolint:revive // the schema of policies has definitions with this name
	Header
	// Message is added to each finding in parentheses, for example a contact or a link. It is one line. Absent: nothing
	// is added.
	Message note `yaml:"message"`
}

// note is text that sentences show unchanged: one line, without characters that do not print.
type note string

// UnmarshalText returns an error for characters that do not print (see match.RejectUnprintable).
func (n *note) UnmarshalText(b []byte) error {
	switch c, found := match.Unprintable(b); {
	case c == '\n':
		return errors.New("a message must be one line: YAML joins several lines after >-")
	case found:
		return fmt.Errorf("a message must not contain %U, which does not print", c)
	}
	*n = note(b)
	return nil
}

// Mode is the stage of the roll-out of an entry. Each stage adds to the one before, so platform teams see the findings
// of a rule before it denies requests.
type Mode uint8

// These are the modes in the order of a roll-out.
const (
	Off     Mode = iota // the entry is checked for errors and otherwise ignored
	Audit               // findings are recorded in audit annotations and metrics
	Warn                // the user is warned too; images are not rewritten
	Enforce             // the request is denied; images are rewritten
)

// String returns the word for the mode in policy files.
func (m Mode) String() string {
	return [...]string{Off: "off", Audit: "audit", Warn: "warn", Enforce: "enforce"}[m]
}

// UnmarshalText accepts the words off, audit, warn and enforce.
func (m *Mode) UnmarshalText(b []byte) error {
	for mode := Off; mode <= Enforce; mode++ {
		if mode.String() == string(b) {
			*m = mode
			return nil
		}
	}
	return fmt.Errorf("%s is not a mode: write off, audit, warn or enforce", text.Quote(b))
}

// Denial is a field whose only value is deny. Objects must not use the feature after which the field is named.
type Denial bool

// UnmarshalText accepts the word deny.
func (d *Denial) UnmarshalText(b []byte) error {
	if string(b) != "deny" {
		return fmt.Errorf("%s is not known here: write deny, or leave the field out to allow it", text.Quote(b))
	}
	*d = true
	return nil
}

// ReadWord sets *to to b, which must be one of the words. what ends the error for any other text: a type of Service.
func ReadWord[S ~string](to *S, b []byte, what string, words ...S) error {
	if last := len(words) - 1; !slices.Contains(words, S(b)) {
		first := strings.Join(text.Plain(words[:last]), ", ")
		return fmt.Errorf("%s is not %s: write %s or %s", text.Quote(b), what, first, words[last])
	}
	*to = S(b)
	return nil
}

// ErrNoCheck returns an error for a rule or a block that would not check anything, because it would look like
// protection.
func ErrNoCheck(fields string) error { return fmt.Errorf("checks nothing: write %s", fields) }

// Passing returns the end of a sentence. It lists the values that would pass.
func Passing[S ~string](allowed []S) string {
	if len(allowed) == 0 {
		return "; the policy allows none"
	}
	return "; allowed: " + text.List(allowed)
}

// RejectEmpty returns an error for an empty list that would not check anything. It is not for lists of allowed values,
// because [] denies every value there.
func RejectEmpty[T any](field string, list []T) error {
	if list == nil || len(list) > 0 {
		return nil
	}
	return strict.Fieldf(field, "[] checks nothing: leave the field out")
}

const (
	// MaxWarnings is the number of warnings of one kind that are kept, which is more than a person reads.
	MaxWarnings = 100
	// MaxCompared limits how many pairs of a denied place and a route are compared, which bounds the time to a tenth of a
	// second. The number of pairs can be large, because entries of one source with different match blocks each have a
	// mirror. The remaining pairs are not checked.
	MaxCompared = 200_000
)
