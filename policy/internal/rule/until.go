package rule

import (
	"errors"
	"fmt"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Moment is the value of a field until: the end of an entry or an exclude. It is a date, 2027-01-31, which ends with
// that day in UTC, or a time in RFC 3339 format, 2027-01-31T18:00:00+01:00.
type Moment struct {
	ends time.Time // the first time after the end, in UTC
	text string    // as it is written
}

// UnmarshalText parses a date or a time. It returns an error for years that are surely mistyped, because an entry
// without an end does not need until.
func (m *Moment) UnmarshalText(b []byte) error {
	s := string(b)
	ends, err := time.Parse(time.DateOnly, s)
	if err == nil {
		ends = ends.AddDate(0, 0, 1)
	} else if err = ends.UnmarshalText(b); err != nil {
		return fmt.Errorf("%s is not a date: write an existing day such as 2027-01-31, which counts to its end in UTC, "+
			"or a time such as 2027-01-31T18:00:00Z", text.Quote(b))
	}
	if year := ends.UTC().Year(); year < firstYear || year > lastYear {
		return fmt.Errorf("%s is not in the years from %d to %d", text.Quote(b), firstYear, lastYear)
	}
	*m = Moment{ends.UTC(), s}
	return nil
}

// Dated implements strict.Dated: dates need no quotes.
func (*Moment) Dated() {}

// The years that until may have. No policy existed before the first year, and no policy will exist in a thousand years.
const (
	firstYear = 2000
	lastYear  = 2999
)

// HasEnded reports whether now is at or after the end. A nil moment never ends. At the zero time, nothing has ended.
func (m *Moment) HasEnded(now time.Time) bool { return m != nil && !now.Before(m.ends) }

// End returns the first time after m, in UTC.
func (m *Moment) End() time.Time { return m.ends }

// EndOf returns the first time after until, in UTC. until is the value of a field as Describe returns it. EndOf returns
// the zero time for any other text.
func EndOf(until string) time.Time {
	var m Moment
	_ = m.UnmarshalText([]byte(until)) // after an error, m is still zero
	return m.ends
}

// String returns the moment as it is written in the policy.
func (m *Moment) String() string { return m.text }

// reason is why an entry ends or why an exclude exists: a ticket, a contact or a sentence. It is one line, because
// findings and logs show it.
type reason string

// UnmarshalText returns an error if the text is empty or contains characters that do not print.
func (r *reason) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("a reason must not be empty: write why, or a ticket")
	}
	if err := match.RejectUnprintable(b, "reason"); err != nil {
		return err
	}
	*r = reason(b)
	return nil
}

// ending contains the fields for the end of an entry.
type ending struct {
	// Until is when an entry in mode warn or audit ends: a date, which ends with that day in UTC, or a time in RFC 3339
	// format. An entry that has ended does not report anything. Absent: the entry does not end. In mode enforce, until is
	// an error.
	Until *Moment `yaml:"until"`
	// Reason is why the entry ends, in one line. Reports show it.
	Reason reason `yaml:"reason"`
}

// reject returns an error if the mode m does not allow the fields, or if reason is set without until.
func (e *ending) reject(m Mode) error {
	switch {
	case e.Until != nil && m == Enforce:
		return strict.Fieldf("until", "an entry in mode enforce has no end: a rule must not switch itself off by date. "+
			"To exempt objects for a time, write until in its exclude, or an entry of exceptions")
	case e.Until == nil && e.Reason != "":
		return strict.Fieldf("reason", "has no meaning without until: message is the text for users")
	}
	return nil
}

// Exemption silences findings until it ends. It is an entry of exceptions or the exclude of an entry that has until. A
// nil Exemption does not silence any findings.
type Exemption struct {
	Name   string    // name of the exceptions entry; empty for an exclude of the rule itself
	Until  string    // as it is written in the policy
	Ends   time.Time // from this time, it does not silence findings
	Reason string    // may be empty for an exclude
}

// By returns the source of the exemption for messages: exclude, or the name of an exception.
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

// hasEnded reports whether now is at or after the end of the exemption.
func (e *Exemption) hasEnded(now time.Time) bool { return !now.Before(e.Ends) }

// endingExclude is an exclude that has until.
type endingExclude struct {
	Exemption
	images match.ImageSet // exclude.images
}

// newEndingExclude returns the exemption of an exclude that has until. It returns nil if the exclude is nil or does not
// have until.
func newEndingExclude(exclude *Selector) *endingExclude {
	if exclude == nil || exclude.Until == nil {
		return nil
	}
	return &endingExclude{
		Exemption{Until: exclude.Until.text, Ends: exclude.Until.ends, Reason: string(exclude.Reason)},
		match.NewImageSet(exclude.Images),
	}
}
