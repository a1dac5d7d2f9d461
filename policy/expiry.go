package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/evergate/evergate/policy/internal/strict"
)

// Expiry is something of a policy that ends by date: an entry of exceptions, the exclude of an entry, or an entry in
// mode warn or audit. What is off is none.
type Expiry struct {
	Rule   string     // the name of the entry
	What   ExpiryWhat // of it ends
	Until  string     // as the policy has it
	Ends   time.Time  // from then on it has ended, in UTC
	Reason string     // may be empty
	Place  Problem    // of the entry, without Message
}

// ExpiryWhat is what ends.
type ExpiryWhat string

// The values of ExpiryWhat.
const (
	ExpiryException ExpiryWhat = "exception" // the entry of exceptions: the findings that it silences count again
	ExpiryExclude   ExpiryWhat = "exclude"   // the exclude of the entry: what it exempts is judged, or rewritten
	ExpiryEntry     ExpiryWhat = "entry"     // in mode warn or audit: it says nothing any more
)

// HasEnded reports whether it is over at now.
func (e *Expiry) HasEnded(now time.Time) bool { return !now.Before(e.Ends) }

// Expiries returns what ends by date, the earliest first. It must not be changed.
func (p *Policy) Expiries() []Expiry { return p.expiries }

// expiries lists what ends.
func (d *document) expiries() []Expiry {
	var all []Expiry
	add := func(name entryName, what ExpiryWhat, m *moment, why reason, at strict.Pos) {
		if m != nil {
			place := Problem{File: at.File, Line: at.Line, Column: at.Column, Path: at.Path}
			all = append(all, Expiry{string(name), what, m.text, m.ends, string(why), place})
		}
	}
	d.headers(func(h *header) {
		if h.Mode == Off {
			return
		}
		if h.Exclude != nil {
			add(h.Name, ExpiryExclude, h.Exclude.Until, h.Exclude.Reason, h.Pos)
		}
		add(h.Name, ExpiryEntry, h.Until, h.Reason, h.Pos)
	})
	for i := range d.Exceptions {
		e := &d.Exceptions[i]
		add(e.Name, ExpiryException, &e.Until, e.Reason, e.Pos)
	}
	slices.SortStableFunc(all, func(a, b Expiry) int {
		return cmp.Or(a.Ends.Compare(b.Ends), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}
