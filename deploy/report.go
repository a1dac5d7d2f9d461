package deploy

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
)

// findings has the texts of all findings.
//
//go:embed findings.yaml
var findings []byte

// kind is a kind of findings. docs/preflight.md is generated from it.
type kind struct {
	ID       string   `json:"-"`
	Severity Severity `json:"-"`     // the worst
	Live     bool     `json:"live"`  // found only in a live cluster
	Finds    string   `json:"finds"` // the problem
	Why      string   `json:"why"`   // why it breaks clusters
	Fix      string   `json:"fix"`
	After    []string `json:"after"` // errors that cause such a finding

	Error, Warning, Info string // the ID, by the severity
}

// kinds returns the kinds of findings, in the order in which they are reported.
func kinds() []kind {
	var all []kind
	if err := yaml.UnmarshalStrict(findings, &all); err != nil {
		panic(err) // the file is part of the program
	}
	for i := range all {
		k := &all[i]
		k.ID, k.Severity = cmp.Or(k.Error, k.Warning, k.Info), Error
		switch k.ID {
		case k.Warning:
			k.Severity = Warning
		case k.Info:
			k.Severity = Info
		}
	}
	return all
}

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
	ID       string   `json:"id"` // as in docs/preflight.md
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

// Report contains all findings. The worst are first. Findings of the same severity are in the order of findings.yaml.
type Report struct {
	Summary  Summary   `json:"summary"`
	Findings []Finding `json:"findings"` // never nil: [] in JSON if there are no findings
	// SkippedFiles lists the files that were not read, by reason.
	SkippedFiles []offline.SkippedFiles `json:"skippedFiles,omitempty"`

	checked []string // the IDs that were checked
}

// result returns the report, without findings that are only consequences.
func (i *inspection) result() *Report {
	r := &Report{Summary: Summary{Objects: i.Count()}, Findings: []Finding{}, SkippedFiles: i.Skips.SkippedFiles}
	for _, k := range i.kinds {
		if !i.follows(k.ID) {
			r.checked = append(r.checked, k.ID)
		}
	}
	counts := map[Severity]*int{Error: &r.Summary.Errors, Warning: &r.Summary.Warnings, Info: &r.Summary.Infos}
	for _, f := range i.found {
		if f.Object = printable(f.at.In("%s", joinParts(f.parts)).String()); slices.Contains(r.checked, f.ID) {
			r.Findings = append(r.Findings, f.Finding)
			*counts[f.Severity]++
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(i.rank(a.ID), i.rank(b.ID)))
	})
	return r
}

// joinParts lists parts of the same kind: webhooks a, b.
func joinParts(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	kind, _, _ := strings.Cut(parts[0], " ")
	var names []string
	for _, part := range parts {
		names = append(names, strings.TrimPrefix(part, kind+" "))
	}
	return kind + "s " + some(names)
}

// WriteText writes the report for people. Each finding has the problem, the reason why it breaks clusters, and the fix.
func (r *Report) WriteText(p *output.Printer) {
	least := Info
	switch {
	case p.OnlyFailures && p.FailOnWarnings:
		least = Warning
	case p.OnlyFailures:
		least = Error
	}
	tones := map[Severity]output.Tone{Error: text.Colors.Bad, Warning: text.Colors.Warn, Info: text.Colors.Note}
	for _, f := range r.Findings {
		if f.Severity.rank() > least.rank() {
			continue
		}
		source := ""
		if f.Source != "" {
			source = " (" + f.Source + ")"
		}
		p.Line("%s  %s  %s%s", p.Paint(tones[f.Severity], fmt.Sprintf("%-7s", f.Severity)), f.ID, f.Object, source)
		p.Line("         %s", f.Message)
		if f.Severity != Info {
			p.Line("         why:  %s\n         fix: %s", f.Why, f.Fix)
		}
	}
	p.Section()
	if least == Info {
		for _, line := range (&offline.Skips{SkippedFiles: r.SkippedFiles}).Lines() {
			p.Line("%s", line)
		}
	}
	p.Line("%s", r.Summary.text())
}

func (s *Summary) text() string {
	var parts []string
	for n, count := range []int{s.Errors, s.Warnings, s.Infos} {
		if count > 0 {
			parts = append(parts, text.Count(count, []string{"error", "warning", "info"}[n]))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing found")
	}
	return fmt.Sprintf("%s, %s: %s", text.Count(s.Objects, "object"), text.Count(len(kinds()), "check"),
		strings.Join(parts, ", "))
}

// fileLine matches Finding.Source.
var fileLine = regexp.MustCompile(`^(.+):(\d+)(: item \d+)?$`)

// Cases returns the report for the formats of pipelines, with a case for each ID that was checked.
func (r *Report) Cases() []output.Case {
	var cases []output.Case
	for _, id := range r.checked {
		cases = append(cases, output.Case{Suite: "preflight", Name: id})
	}
	levels := map[Severity]output.Level{Error: output.Error, Warning: output.Warning, Info: output.Note}
	for _, f := range r.Findings {
		c, object := &cases[slices.Index(r.checked, f.ID)], f.Object
		message := f.Message
		if f.Severity != Info {
			message += "\nwhy: " + f.Why + "\nfix: " + f.Fix
		}
		place := output.Place{File: f.Source}
		if m := fileLine.FindStringSubmatch(f.Source); m != nil {
			line, _ := strconv.Atoi(m[2]) // the pattern matches only digits
			place = output.Place{File: m[1], Line: line, Column: 1}
		}
		c.Results = append(c.Results, output.Result{
			Level: levels[f.Severity], Rule: f.ID, Subject: object, Message: object + ": " + message, Help: f.Why, Place: place,
		})
	}
	return cases
}

// printable returns s as one line of at most 4,096 bytes, with the escapes of text.Escape, because manifests come from
// anywhere.
func printable(s string) string {
	return text.Escape(strings.ReplaceAll(text.Truncate(s, 4096), "\n", " "))
}

// oneOf lists alternatives: a or b.
func oneOf(names []string) string { return strings.Join(names, " or ") }

// some lists names. If there are many, it lists the first twenty and the number of the others.
func some(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return text.ListUpTo(20, names)
}
