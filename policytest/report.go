package policytest

import "github.com/evergate/evergate/policy/suite"

// Report is the result of suites. Its JSON is an interface: from the first release on, fields are added and never
// renamed.
type Report struct {
	Passed   bool       `json:"passed"` // every case did; coverage has no part in it
	Summary  Summary    `json:"summary"`
	Suites   []Suite    `json:"suites"`
	Coverage []Coverage `json:"coverage"`         // of each policy; empty where cases were left out
	Errors   []string   `json:"errors,omitempty"` // suites, policies and objects that were not understood
}

// Summary counts cases and the entries of policies.
type Summary struct {
	Cases   int `json:"cases"` // that were run
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Left    int `json:"left,omitempty"` // out, by their names
	Entries int `json:"entries"`
	Reached int `json:"reached"` // of them
}

// Suite is the result of a suite.
type Suite struct {
	File   string `json:"file"`
	Policy string `json:"policy"` // its files
	Hash   string `json:"hash"`
	Cases  []Case `json:"cases"`
}

// Case is the result of a case.
type Case struct {
	Name     string   `json:"name"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Passed   bool     `json:"passed"`
	Decision string   `json:"decision"`           // allowed, warned, denied or podsRefused
	Differs  []string `json:"differs,omitempty"`  // the fields of what is expected that do not hold
	Diff     string   `json:"diff,omitempty"`     // of what is expected and decided
	Findings []string `json:"findings,omitempty"` // of a case that failed: what a user is told

	decided suite.Expect
	nothing bool // is expected
}

// Coverage says which entries of a policy cases have reached.
type Coverage struct {
	Policy   string   `json:"policy"` // its files
	Hash     string   `json:"hash"`
	Entries  int      `json:"entries"` // in force, and exceptions
	Reached  int      `json:"reached"`
	Missing  []Entry  `json:"missing"`
	Warnings []string `json:"warnings,omitempty"` // of the policy
}

// Entry is an entry of a policy.
type Entry struct {
	Block  string `json:"block"`
	Name   string `json:"name"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Covered reports whether cases have reached every entry.
func (r *Report) Covered() bool { return r.Summary.Reached == r.Summary.Entries }
