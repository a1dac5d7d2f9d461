package policy

import (
	"errors"
	"fmt"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// moment is a field until: when something of a policy ends. It is a date, 2027-01-31, which ends with that day in UTC,
// or a time as RFC 3339 has it, 2027-01-31T18:00:00+01:00.
type moment struct {
	ends time.Time // the first time at which it has ended, in UTC
	text string    // as it is written
}

// UnmarshalText parses a date or a time. It refuses years that are surely mistyped: what is meant to have no end is
// written without until.
func (m *moment) UnmarshalText(b []byte) error {
	s := string(b)
	ends, err := time.Parse(time.DateOnly, s)
	if err == nil {
		ends = ends.AddDate(0, 0, 1)
	} else if err = ends.UnmarshalText(b); err != nil {
		return fmt.Errorf("%s is not a date: write a day that exists, as in 2027-01-31, which ends with it in UTC, or "+
			"a time, as in 2027-01-31T18:00:00Z", text.Quote(b))
	}
	if year := ends.UTC().Year(); year < firstYear || year > lastYear {
		return fmt.Errorf("%s is not in the years from %d to %d", text.Quote(b), firstYear, lastYear)
	}
	*m = moment{ends.UTC(), s}
	return nil
}

// Dated implements strict.Dated: dates need no quotes.
func (*moment) Dated() {}

// The years that until may have: no policy is older than this one, or is still there in a thousand years.
const (
	firstYear = 2000
	lastYear  = 2999
)

// hasEnded reports whether the moment is over at now. Nil never ends, and at the zero time nothing has ended.
func (m *moment) hasEnded(now time.Time) bool { return m != nil && !now.Before(m.ends) }

// String returns the moment as the policy has it.
func (m *moment) String() string { return m.text }

// reason is why something of a policy ends, or why an exclude is there: a ticket, a contact, a sentence. It is one
// line, since findings and logs show it.
type reason string

// UnmarshalText refuses a text that is empty or has control characters.
func (r *reason) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("an empty reason says nothing: write why, or a ticket")
	}
	if err := match.RefuseControl(b, "reason"); err != nil {
		return err
	}
	*r = reason(b)
	return nil
}

// ending is the fields of an entry that ends.
type ending struct {
	// Until is when an entry in mode warn or audit ends, and says nothing any more: a date, which ends with that day in
	// UTC, or a time as RFC 3339 has it. Absent: the entry has no end. In mode enforce it is an error.
	Until *moment `yaml:"until"`
	// Reason says why the entry ends, in one line, which reports show.
	Reason reason `yaml:"reason"`
}

// refuse returns an error where the fields have no meaning in a mode.
func (e *ending) refuse(m Mode) error {
	switch {
	case e.Until != nil && m == Enforce:
		return strict.Fieldf("until", "an entry in mode enforce has no end: a rule must not switch itself off by date. "+
			"To exempt objects for a time, write until in its exclude, or an entry of exceptions")
	case e.Until == nil && e.Reason != "":
		return strict.Fieldf("reason", "has no meaning without until: what users read is message")
	}
	return nil
}

// Exemption silences findings until it ends: an entry of exceptions, or the exclude of an entry that has until. A nil
// Exemption silences nothing.
type Exemption struct {
	Name   string    // of the entry of exceptions; empty for the exclude of the rule itself
	Until  string    // as the policy has it
	Ends   time.Time // from then on it silences nothing
	Reason string    // may be empty for an exclude
}

// By returns what silences a finding, as sentences name it: the exclude, or the name of an exception.
func (e *Exemption) By() string {
	if e.Name == "" {
		return "exclude"
	}
	return e.Name
}

// String returns the exemption as review --explain shows it: exempt until 2027-01-31 by legacy-shop: TICKET-12.
func (e *Exemption) String() string {
	s := "exempt until " + e.Until + " by " + e.By()
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// hasEnded reports whether the exemption is over at now.
func (e *Exemption) hasEnded(now time.Time) bool { return !now.Before(e.Ends) }

// endingExclude is an exclude that has until.
type endingExclude struct {
	Exemption
	images match.ImageSet // exclude.images
}

// newEndingExclude returns what is exempt by an exclude that has until; nil for another exclude.
func newEndingExclude(exclude *selector) *endingExclude {
	if exclude == nil || exclude.Until == nil {
		return nil
	}
	return &endingExclude{
		Exemption{Until: exclude.Until.text, Ends: exclude.Until.ends, Reason: string(exclude.Reason)},
		match.NewImageSet(exclude.Images),
	}
}
