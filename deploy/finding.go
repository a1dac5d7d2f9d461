package deploy

import (
	"cmp"
	"slices"

	"github.com/evergate/evergate/offline"
)

// Severity is the severity of a finding.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"   // breaks a cluster, or a guarantee that Evergate gives
	Warning Severity = "warning" // hurts during an outage, or is about a webhook of another product
	Info    Severity = "info"    // worth knowing
)

// rank orders severities, the worst first.
func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Info}, s) }

// Finding is one problem of one object.
type Finding struct {
	ID       string   `json:"id"` // of the check, as in docs/preflight.md
	Severity Severity `json:"severity"`
	Object   string   `json:"object"`           // kind, namespace, name and part of the object
	Source   string   `json:"source,omitempty"` // FILE:LINE of the object
	Message  string   `json:"message"`          // the problem
	Why      string   `json:"why"`              // why the problem breaks clusters
	Fix      string   `json:"fix"`              // how to correct it
}

// Summary counts objects and findings.
type Summary struct {
	Objects  int `json:"objects"` // objects that were read
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
}

// Report contains all findings. The worst are first. Findings of the same severity are in the order of the checks.
type Report struct {
	Summary  Summary   `json:"summary"`
	Findings []Finding `json:"findings"` // never nil: [] in JSON if there are no findings
	// SkippedFiles lists the files that were not read, by reason.
	SkippedFiles []offline.SkippedFiles `json:"skippedFiles,omitempty"`

	checked []string // the checks that were run
}

func newReport(inv *Inventory, checked []string, findings []Finding) *Report {
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
	r := &Report{Summary{Objects: inv.count()}, findings, inv.skips.Files, checked}
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
