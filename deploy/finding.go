package deploy

import (
	"cmp"
	"slices"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"   // breaks a cluster, or a guarantee that Evergate gives
	Warning Severity = "warning" // hurts during an outage; or it is a webhook of another product
	Info    Severity = "info"    // worth knowing
)

// rank orders severities, the worst first.
func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Info}, s) }

// Finding is one thing that is wrong with one object.
type Finding struct {
	ID       string   `json:"id"` // of the check, as docs/preflight.md lists them
	Severity Severity `json:"severity"`
	Object   string   `json:"object"`           // kind, namespace and name, and the part of it
	Source   string   `json:"source,omitempty"` // FILE:LINE of the object
	Message  string   `json:"message"`          // what was found
	Why      string   `json:"why"`              // why it breaks clusters
	Fix      string   `json:"fix"`              // what to do
}

// Summary counts findings.
type Summary struct {
	Objects  int `json:"objects"` // that were understood
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
}

// Report is all that was found: the worst first, then in the order of the checks.
type Report struct {
	Summary  Summary   `json:"summary"`
	Findings []Finding `json:"findings"` // never nil: [] in JSON is a clean bill

	checked []string // the checks that were run
}

func newReport(objects int, checked []string, findings []Finding) *Report {
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
	r := &Report{Summary{Objects: objects}, findings, checked}
	for i := range findings {
		switch findings[i].Severity {
		case Error:
			r.Summary.Errors++
		case Warning:
			r.Summary.Warnings++
		case Info:
			r.Summary.Infos++
		}
	}
	return r
}
