package cmd

import (
	"fmt"
	"strconv"
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

// maxExpiryLines is the maximum number of lines that are printed. It is more than anyone reads. The JSON output has
// all of them.
const maxExpiryLines = 100

// expiryWarnings returns a line for each part that has ended or ends soon.
func expiryWarnings(all []policyExpiry) []string {
	var lines []string
	more := 0
	for i := range all {
		switch e := &all[i]; {
		case e.State == expiryLater:
		case len(lines) == maxExpiryLines:
			more++
		default:
			lines = append(lines, fmt.Sprintf("%s:%d:%d: %s: %s", e.File, e.Line, e.Column, e.Path, e.text()))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more that have ended or end soon: use -o json to list all", more))
	}
	return lines
}

// text returns the sentence about a part that has ended or ends soon.
func (e *policyExpiry) text() string {
	s := map[policy.ExpiryWhat]string{
		policy.ExpiryException: "the exception " + e.Rule,
		policy.ExpiryExclude:   "the exclude of " + e.Rule,
		policy.ExpiryEntry:     "the entry " + e.Rule,
	}[e.What]
	if e.State == expiryEnded {
		s += " ended " + roughly(-e.left) + " ago"
	} else {
		s += " ends in " + roughly(e.left)
	}
	s += " (until " + e.Until
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	switch {
	case e.State == expiryEnded:
		return s + "): it can be deleted"
	case e.What == policy.ExpiryEntry:
		return s + "): after that it has no effect"
	}
	return s + "): after that it does not exempt anything"
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
