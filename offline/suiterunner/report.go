package suiterunner

import "github.com/evergate/evergate/policy/suite"

// Report is the result of the suites. Its JSON is an interface: from the first release on, fields may be added, but
// not renamed.
type Report struct {
	Passed   bool       `json:"passed"` // every case passed; coverage does not matter
	Summary  Summary    `json:"summary"`
	Suites   []Suite    `json:"suites"`
	Coverage []Coverage `json:"coverage"`         // of each policy; empty if cases were left out
	Errors   []string   `json:"errors,omitempty"` // about suites, policies and objects that were not understood

	RequireCoverage bool `json:"-"` // for CI, an entry that no case reaches is an error and not a warning

	failed []string // the errors about whole suites
}

// Summary counts cases and policy entries.
type Summary struct {
	Cases   int `json:"cases"` // that were run
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	NotRun  int `json:"notRun,omitempty"` // because of an error in the case or in its policy
	Unread  int `json:"unread,omitempty"` // suites whose cases are not known
	Left    int `json:"left,omitempty"`   // left out because of their names
	Entries int `json:"entries"`
	Reached int `json:"reached"` // entries
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
	Decision string   `json:"decision"`           // allowed, warned, denied or podsDenied; empty if it was not run
	Error    string   `json:"error,omitempty"`    // the reason why it was not run
	Differs  []string `json:"differs,omitempty"`  // the expected fields that do not match
	Diff     string   `json:"diff,omitempty"`     // between the expectation and the decision
	Findings []string `json:"findings,omitempty"` // of a failed case: the denials and warnings that a user sees

	decided suite.Expect
	nothing bool // the case does not expect anything
}

// Coverage reports which policy entries the cases have reached.
type Coverage struct {
	Policy   string   `json:"policy"` // its files
	Hash     string   `json:"hash"`
	Entries  int      `json:"entries"` // active entries, and exceptions
	Reached  int      `json:"reached"`
	Missing  []Entry  `json:"missing"`
	Warnings []string `json:"warnings,omitempty"` // about the policy
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
