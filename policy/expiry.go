package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Expiry is a part of a policy with an end date: an entry of exceptions, the exclude of an entry, or an entry in mode
// warn or audit. It does not include entries in mode off.
type Expiry struct {
	Rule   string     // the name of the entry
	What   ExpiryWhat // the part that ends
	Until  string     // as written in the policy
	Ends   time.Time  // the end, in UTC
	Reason string     // may be empty
	Place  Problem    // the place of the entry, without Message
}

// ExpiryWhat is the part of a policy that ends.
type ExpiryWhat string

// These are the values of ExpiryWhat.
const (
	ExpiryException ExpiryWhat = "exception" // an entry of exceptions; the findings that it silences deny and warn again
	ExpiryExclude   ExpiryWhat = "exclude"   // the exclude of the entry; its objects are checked or their images rewritten
	ExpiryEntry     ExpiryWhat = "entry"     // an entry in mode warn or audit; it no longer has findings
)

// HasEnded reports whether e has ended at now.
func (e *Expiry) HasEnded(now time.Time) bool { return !now.Before(e.Ends) }

// Expiries returns the parts of the policy with an end date, the earliest first. The caller must not change the slice.
func (p *Policy) Expiries() []Expiry { return p.expiries }

// expiries lists the parts of the document with an end date.
func (d *document) expiries() []Expiry {
	var all []Expiry
	add := func(name string, what ExpiryWhat, m *rule.Moment, why string, at strict.Pos) {
		if m != nil {
			place := Problem{File: at.File, Line: at.Line, Column: at.Column, Path: at.Path}
			all = append(all, Expiry{name, what, m.String(), m.End(), why, place})
		}
	}
	for h := range d.headers {
		if h.Mode == Off {
			continue
		}
		if h.Exclude != nil {
			add(string(h.Name), ExpiryExclude, h.Exclude.Until, string(h.Exclude.Reason), h.Pos)
		}
		add(string(h.Name), ExpiryEntry, h.Until, string(h.Reason), h.Pos)
	}
	for i := range d.Exceptions {
		e := &d.Exceptions[i]
		add(string(e.Name), ExpiryException, &e.Until, string(e.Reason), e.Pos)
	}
	slices.SortStableFunc(all, func(a, b Expiry) int {
		return cmp.Or(a.Ends.Compare(b.Ends), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}
