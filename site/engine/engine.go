// Package engine evaluates manifests against a policy for the playground of the website. It uses the packages that
// answer kube-apiserver, and returns values that can be encoded as JSON.
package engine

import (
	"bytes"
	"cmp"
	"time"

	"github.com/evergate/evergate/lifecycle/policystore"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

// The names that messages use for the two texts.
const (
	PolicyFile   = "policy.yaml"
	ManifestFile = "manifests.yaml"
)

// Answer is the evaluation of manifests against a policy.
type Answer struct {
	// Problems are the mistakes in the policy. If there are any, the rest of the answer is empty.
	Problems []Problem `json:"problems"`
	// Warnings are the warnings about a policy that loads.
	Warnings []Problem `json:"warnings"`
	Hash     string    `json:"hash"`
	// Report is the report of evergate review --explain, or nil if the policy does not load.
	Report *offline.Report `json:"report"`
	// Places are the findings and the errors of the report with their places in the manifests.
	Places []Place `json:"places"`
	// Native lists the policy's entries, and the parts that the native export enforces.
	Native []Native `json:"native"`
}

// Problem is a mistake in a policy, or a warning. The line and the column count from 1, and are 0 if they are unknown.
type Problem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Place is a finding or an error at its line in the manifests.
type Place struct {
	Level   string `json:"level"` // error, warning or note
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// Native is the native export of one entry.
type Native struct {
	Entry     string   `json:"entry"`
	Native    bool     `json:"native"`
	Why       string   `json:"why"`
	Omissions []string `json:"omissions"` // the fields that the export leaves out, and what to do instead
}

// Evaluate evaluates manifests against a policy at a time. The policy is a policy file or the ConfigMap that contains
// one. The rules of all sets apply.
func Evaluate(policyText, manifests []byte, now time.Time) Answer {
	files := policystore.Unwrap([]policy.File{{Name: PolicyFile, Data: policyText}})
	p, err := policy.Load(files...)
	if err != nil {
		return Answer{Problems: problems(policy.Problems(err))}
	}
	report := offline.Review(offline.Options{
		Policy: p, Namespace: "default", Now: now, Sets: p.Sets(), Explain: true,
	}, offline.ReadText(ManifestFile, bytes.NewReader(manifests)))
	answer := Answer{
		Warnings: problems(p.WarningProblems()), Hash: p.Hash(), Report: report, Places: places(report.CasesIn(manifests)),
	}
	if doc, err := policy.Describe(files...); err == nil { // it describes every policy that loads
		answer.Native = native(doc, p.Hash(), now)
	}
	return answer
}

func problems(all []policy.Problem) []Problem {
	list := make([]Problem, len(all))
	for i, p := range all {
		list[i] = Problem{p.Line, p.Column, p.Path, p.Message}
	}
	return list
}

func places(cases []output.Case) []Place {
	var list []Place
	for _, c := range cases {
		for _, r := range c.Results {
			at := r.Place
			if at.Line == 0 {
				at = c.Place
			}
			list = append(list, Place{levelWord(r.Level), at.Line, at.Column, r.Message})
		}
	}
	return list
}

func levelWord(l output.Level) string {
	switch l {
	case output.Note:
		return "note"
	case output.Warning:
		return "warning"
	default:
		return "error"
	}
}

// native exports a policy as evergate export --target vap,map does at a time.
func native(doc policy.Document, hash string, now time.Time) []Native {
	result := export.Export(doc, export.Options{
		Targets: []export.Target{export.VAP, export.MAP}, Exempt: export.ExemptNamespaces(), Hash: hash, Now: now,
	})
	list := make([]Native, len(result.Coverage))
	for i, c := range result.Coverage {
		list[i] = Native{Entry: c.Entry.Block + "/" + c.Entry.Name, Native: c.Native, Why: c.Why}
		for j := range result.Omissions {
			r := &result.Omissions[j]
			if field, why, ok := r.Of(&c.Entry); ok {
				list[i].Omissions = append(list[i].Omissions, cmp.Or(field, "the entry")+": "+why+"; "+r.Instead)
			}
		}
	}
	return list
}
