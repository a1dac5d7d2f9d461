package cmd

import (
	"strconv"
	"strings"
	"time"

	"github.com/evergate/evergate/policy"
)

// expirySoon is the time before an end date during which policy check warns. It is two weeks, like the alert in the
// base manifests.
const expirySoon = 14 * 24 * time.Hour

// policyExpiry is a part of a policy that ends on a date.
type policyExpiry struct {
	Rule   string            `json:"rule"` // the name of the entry
	What   policy.ExpiryWhat `json:"what"`
	Until  string            `json:"until"` // as written in the policy
	Ends   time.Time         `json:"ends"`
	State  string            `json:"state"` // ended, soon or later
	Reason string            `json:"reason,omitempty"`
	File   string            `json:"file,omitempty"`
	Line   int               `json:"line,omitempty"`
	Column int               `json:"column,omitempty"`
	Path   string            `json:"path,omitempty"`

	left time.Duration // negative if it has ended
}

// The states of a policyExpiry.
const (
	expiryEnded = "ended"
	expiryIsDue = "soon" // within expirySoon
	expiryLater = "later"
)

// expiriesOf returns the parts of a policy that end on a date, the earliest first, with their states at now.
func expiriesOf(p *policy.Policy, now time.Time) []policyExpiry {
	all := []policyExpiry{}
	for _, e := range p.Expiries() {
		state := expiryLater
		switch {
		case e.HasEnded(now):
			state = expiryEnded
		case e.Ends.Sub(now) <= expirySoon:
			state = expiryIsDue
		}
		all = append(all, policyExpiry{
			Rule: e.Rule, What: e.What, Until: e.Until, Ends: e.Ends, State: state, Reason: e.Reason,
			File: e.Place.File, Line: e.Place.Line, Column: e.Place.Column, Path: e.Place.Path, left: e.Ends.Sub(now),
		})
	}
	return all
}

// expiryWarnings returns a line for each part that has ended or ends soon.
func expiryWarnings(all []policyExpiry) []string {
	var lines []string
	for i := range all {
		if all[i].State != expiryLater {
			lines = append(lines, all[i].problem().String())
		}
	}
	return lines
}

// problem returns the warning about a part that has ended or ends soon.
func (e *policyExpiry) problem() policy.Problem {
	what := "the " + string(e.What) + " " + e.Rule
	if e.What == policy.ExpiryExclude {
		what = "the exclude of " + e.Rule
	}
	when, then := " ends in "+roughly(e.left), "after that it does not exempt anything"
	if e.What == policy.ExpiryEntry {
		then = "after that it has no effect"
	}
	if e.State == expiryEnded {
		when, then = " ended "+roughly(-e.left)+" ago", "it can be deleted"
	}
	until := strings.TrimSuffix(e.Until+": "+e.Reason, ": ")
	return policy.Problem{
		File: e.File, Line: e.Line, Column: e.Column, Path: e.Path, Message: what + when + " (until " + until + "): " + then,
	}
}

// roughly returns a duration in words: 9 days, 30 hours, 5 minutes.
func roughly(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return strconv.Itoa(int(d.Hours()/24)) + " days"
	case d >= 2*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " hours"
	}
	return strconv.Itoa(int(d.Minutes())) + " minutes"
}
