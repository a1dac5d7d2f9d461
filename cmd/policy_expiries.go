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

// policyExpiry is a part of a policy that ends on a date. The message of the Problem is the warning about it, which is
// empty if it ends later.
type policyExpiry struct {
	Rule   string            `json:"rule"` // the name of the entry
	What   policy.ExpiryWhat `json:"what"`
	Until  string            `json:"until"` // as written in the policy
	Ends   time.Time         `json:"ends"`
	State  string            `json:"state"` // ended, soon or later
	Reason string            `json:"reason,omitempty"`
	policy.Problem
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
		found := policyExpiry{
			Rule: e.Rule, What: e.What, Until: e.Until, Ends: e.Ends, State: expiryLater, Reason: e.Reason,
			Problem: policy.Problem{File: e.Place.File, Line: e.Place.Line, Column: e.Place.Column, Path: e.Place.Path},
		}
		switch left := e.Ends.Sub(now); {
		case e.HasEnded(now):
			found.State = expiryEnded
			found.Message = found.warning(" ended "+roughly(-left)+" ago", "it can be deleted")
		case left <= expirySoon && e.What == policy.ExpiryEntry:
			found.State = expiryIsDue
			found.Message = found.warning(" ends in "+roughly(left), "after that it has no effect")
		case left <= expirySoon:
			found.State = expiryIsDue
			found.Message = found.warning(" ends in "+roughly(left), "after that it does not exempt anything")
		}
		all = append(all, found)
	}
	return all
}

// warning returns the sentence about a part that has ended or ends soon.
func (e *policyExpiry) warning(when, then string) string {
	what := "the " + string(e.What) + " " + e.Rule
	if e.What == policy.ExpiryExclude {
		what = "the exclude of " + e.Rule
	}
	return what + when + " (until " + strings.TrimSuffix(e.Until+": "+e.Reason, ": ") + "): " + then
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
