// Package output writes the reports of commands: as text for users, as JSON and YAML for programs, and for CI as JUnit
// for test reports, SARIF 2.1.0 for code scanning, and workflow commands, with which GitHub annotates a diff.
//
// A command calls Write:
//
//	return output.Write(w, output.SARIF, report, output.Options{Command: "review"})
//
// JSON and YAML contain the exported fields of the report. Its method WriteText writes it for users. Its method Cases
// returns it for CI. A case is one thing that was checked, with its findings.
//
//	format.go   the formats, JSON and YAML
//	text.go     text: lines with labels, tables, lists of counts
//	sarif.go    SARIF
//	junit.go    JUnit
//	github.go   workflow commands of GitHub Actions
package output

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/evergate/evergate/internal/text"
)

// Report is the result of a command.
type Report interface {
	WriteText(*Printer)
}

// CaseReport is a report that can be written in the formats for CI.
type CaseReport interface {
	Report
	Cases() []Case // in the order in which they were checked
}

// Options contains the options for writing a report.
type Options struct {
	Command        string // of evergate: review, policy check
	FailOnWarnings bool   // a Warning is a failure: in JUnit, and for OnlyFailures

	// The following options are for SARIF and GitHub.

	Version string // of evergate
	Dir     string // the working directory, to which file names are made relative; may be empty

	// The following options are for text.

	Colors       text.Colors
	OnlyFailures bool // leave out results that are not failures
	Limit        int  // the maximum number of listed objects; 0 lists all
	AllRows      bool // write all rows of tables
}

// findings are the cases of a report.
type findings struct {
	Options
	cases []Case
}

// Case is one thing that was checked: an object, a policy, or a case of a test suite.
type Case struct {
	Suite   string // the group of the case in JUnit, usually a file
	Name    string
	Place   Place // the place of the checked thing
	Results []Result
}

// Result is one finding.
type Result struct {
	Level   Level
	Rule    string // the rule and check that found it: team-hosts/hosts.allowed
	Subject string // object and field, without line and index, so it stays the same if lines are added above
	Message string
	Help    string // the purpose of the rule; may be empty
	Place   Place  // if it is zero, the place of the case
}

// Place is a place in a file. Lines and columns start at 1, and columns count characters. 0 means unknown.
type Place struct {
	File         string
	Line, Column int
}

// String returns FILE:LINE:COLUMN, without the parts that are unknown.
func (p Place) String() string {
	s := p.File
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
	}
	if p.Column > 0 {
		s += ":" + strconv.Itoa(p.Column)
	}
	return s
}

// Level is the severity of a result.
type Level int

// The levels, the worst last.
const (
	Note    Level = iota // for information
	Warning              // allowed, with a warning
	Error                // denied, or failed
	Invalid              // the input was not understood, so the result is unknown
)

// String returns the word for the level.
func (l Level) String() string { return [...]string{"note", "warning", "error", "invalid"}[l] }

// The limits of the output.
const (
	// maxResults is the maximum number of results in SARIF and in GitHub workflow commands. GitHub does not show more
	// results of one SARIF file.
	maxResults = 5000
	// maxMessage limits a message, in bytes. GitHub shows a quarter of this in a list.
	maxMessage = 4 << 10
	// maxName limits names, in bytes. Kubernetes names are not longer.
	maxName = 512
	// maxPath limits file names, in bytes. Linux cannot open files with longer names.
	maxPath = 4096
)

// located is a result with its case and its place.
type located struct {
	*Case
	*Result
	at Place
}

// worst returns at most maxResults results, the worst first, and the number of remaining results.
func (r *findings) worst() (all []located, more int) {
	for i := range r.cases {
		c := &r.cases[i]
		for j := range c.Results {
			result := &c.Results[j]
			all = append(all, located{c, result, cmp.Or(result.Place, c.Place)})
		}
	}
	slices.SortStableFunc(all, func(a, b located) int { return cmp.Compare(b.Level, a.Level) })
	if more = len(all) - maxResults; more > 0 {
		return all[:maxResults], more
	}
	return all, 0
}

// path returns the path of a file relative to the directory of the report, with slashes.
func (r *findings) path(file string) string {
	if r.Dir != "" && filepath.IsAbs(file) {
		if relative, err := filepath.Rel(r.Dir, file); err == nil {
			file = relative
		}
	}
	return filepath.ToSlash(filepath.Clean(text.Truncate(file, maxPath)))
}

// message returns a message of limited length without unprintable characters.
func message(s string) string { return text.Escape(text.Truncate(s, maxMessage)) }

// name returns a name of limited length on one line.
func name(s string) string { return text.Printable(s, maxName) }
