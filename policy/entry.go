package policy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// header is the fields that all entries of a policy have.
type header struct {
	// Name is unique in the whole policy: lower case letters, digits, - and ., at most 63 characters. Findings and metrics
	// carry it.
	Name entryName `yaml:"name,required"`
	// Mode is the stage of the roll-out: off, the entry is checked for errors and otherwise ignored; audit, findings go
	// into audit annotations and metrics; warn, and the user is warned, while images are reported and not rewritten;
	// enforce, and the request is denied, or images are rewritten.
	Mode Mode `yaml:"mode,required"`
	// Match: the objects that the entry is about. All of its fields have to cover an object, and in each any element
	// suffices. Absent: every object.
	Match *selector `yaml:"match"`
	// Exclude: the objects that it is not about, also where they are matched. One of its fields suffices. Absent: none.
	Exclude *selector  `yaml:"exclude"`
	Pos     strict.Pos `yaml:"-"`
	ending

	// resources are those that the entry judges, of an entry for several kinds; nil for all.
	resources []string
	// dimensions are those of a selector that have a meaning for the entry.
	dimensions dimensions
	// exempt is set where the exclude ends. What it excludes is then judged, and its findings are silenced.
	exempt *endingExclude
	// refuses says of a rule for workloads that in its own mode it refuses the Pods.
	refuses bool
}

// head returns the header of an entry, whatever its block.
func (h *header) head() *header { return h }

// applies reports whether the entry applies to s, and if it does not, why. It counts the steps of its selectors.
func (h *header) applies(s *subject) (why selectorResult, ok bool) {
	if h.Until.hasEnded(s.now) {
		return selectorResult{dimension: untilDimension, value: h.Until.text}, false
	}
	if h.resources != nil && !slices.Contains(h.resources, s.resource) {
		return selectorResult{dimension: kindsDimension, value: s.resource}, false
	}
	if why, ok = h.Match.matches(s); !ok {
		return why, false
	}
	if h.exempt != nil {
		return selectorResult{}, true
	}
	why, excluded := h.Exclude.excludes(s)
	return why, !excluded
}

// appliesTo is applies without the reason.
func (h *header) appliesTo(s *subject) bool {
	_, ok := h.applies(s)
	return ok
}

// validate refuses dimensions of selectors that have no meaning for the kind of the entry. The Validate methods of the
// entries call it.
func (h *header) validate(d dimensions) error {
	h.dimensions, h.exempt = d, newEndingExclude(h.Exclude)
	errs := slices.Concat(d.refuse(h.Match, true), d.refuse(h.Exclude, false))
	return errors.Join(append(errs, h.refuse(h.Mode))...)
}

// entryName is the name of an entry: lower case letters, digits, - and ., at most 63 characters, so that it can stand
// in metrics and annotations as it is.
type entryName string

// UnmarshalText refuses other texts than names.
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

// ruleHeader is the header of the entries that judge objects: pods, ingresses, services, routes, owners.
type ruleHeader struct {
	header
	// Message is added to each finding in parentheses: a contact, a link. It is one line. Absent: nothing is added.
	Message note `yaml:"message"`
}

// note is text that sentences show as it is written: one line, without control characters, which a terminal would
// execute.
type note string

// UnmarshalText refuses control characters: the API server drops a warning that contains one.
func (n *note) UnmarshalText(b []byte) error {
	if bytes.ContainsFunc(b, unicode.IsControl) {
		return errors.New("a message is one line without control characters: " +
			"YAML makes one of several that stand after >-")
	}
	*n = note(b)
	return nil
}

// Mode is the stage of the roll-out of an entry. Each stage adds to the one before it, so that operators see the
// findings of a rule before it denies requests.
type Mode uint8

// The modes, in the order of a roll-out.
const (
	Off     Mode = iota // the entry is checked for errors and otherwise ignored
	Audit               // findings go into audit annotations and metrics
	Warn                // and the user is warned; images are not rewritten
	Enforce             // the request is denied; images are rewritten
)

var modeNames = [...]string{Off: "off", Audit: "audit", Warn: "warn", Enforce: "enforce"}

// String returns the word that policy files have.
func (m Mode) String() string { return modeNames[m] }

// UnmarshalText accepts the words off, audit, warn and enforce.
func (m *Mode) UnmarshalText(b []byte) error {
	for i, name := range modeNames {
		if name == string(b) {
			*m = Mode(i)
			return nil
		}
	}
	return fmt.Errorf("%s is not a mode: write off, audit, warn or enforce", text.Quote(b))
}

// denial is a field whose only value is deny: objects must not have what the field names.
type denial bool

// UnmarshalText accepts the word deny.
func (d *denial) UnmarshalText(b []byte) error {
	if string(b) != "deny" {
		return fmt.Errorf("%s is not known here: write deny, or leave the field out to allow it", text.Quote(b))
	}
	*d = true
	return nil
}

// errNoCheck refuses a rule, or a block of one, that would check nothing: it would look like protection.
func errNoCheck(fields string) error { return fmt.Errorf("checks nothing: write %s", fields) }

// passing returns the end of a sentence, which says what would pass.
func passing[S ~string](allowed []S) string {
	if len(allowed) == 0 {
		return "; the policy allows none"
	}
	return "; allowed: " + text.List(allowed)
}

// stringsOf returns values as sentences list them.
func stringsOf[T fmt.Stringer](values []T) []string {
	s := make([]string, len(values))
	for i, v := range values {
		s[i] = v.String()
	}
	return s
}
