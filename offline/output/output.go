// Package output writes the findings of a command in formats for CI: JUnit for test reports, SARIF 2.1.0 for code
// scanning, and workflow commands, with which GitHub annotates a diff. It can also write any value as JSON or YAML.
//
// A command has a Flag with the formats that it supports. It writes text itself, and calls Write for the other
// formats:
//
//	f.output = output.NewFlag(output.All()...)
//	flags.VarP(&f.output, "output", "o", f.output.Usage("the report"))
//	…
//	if f.output.Format() == output.Text {
//		return report.WriteText(w)
//	}
//	return output.Write(w, f.output.Format(), report, func() *output.Report {
//		return &output.Report{Command: "review", Version: version, Dir: dir, Cases: report.Cases()}
//	})
//
// JSON and YAML contain report. The other formats contain cases. A case is one thing that was checked, with its
// findings, and the package that checks it creates the case. In package cmd, writeReport adds the command, the
// version and the directory.
//
//	format.go   the formats, the flag, JSON and YAML
//	sarif.go    SARIF; sarif_types.go: the part of SARIF that is written
//	junit.go    JUnit
//	github.go   workflow commands of GitHub Actions
package output

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/evergate/evergate/internal/text"
)

// Report contains the findings of a command.
type Report struct {
	Command string // of evergate: review, policy check
	Version string // of evergate
	Dir     string // the working directory, to which file names are made relative; may be empty
	Cases   []Case // in the order in which they were checked

	FailOnWarnings bool // in JUnit, a Warning fails its case
}

// Case is one thing that was checked: an object, a policy, or a case of a test suite.
type Case struct {
	Suite   string // the group of the case in JUnit, usually a file
	Name    string
	Place   Place  // the place of the checked thing
	Skipped string // the reason if it was not checked
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

// Level is the severity of a result.
type Level int

// The levels, the worst last.
const (
	Note    Level = iota // for information
	Warning              // allowed, with a warning
	Error                // denied, or failed
	Invalid              // the input was not understood, so the result is unknown
)

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
func (r *Report) worst() (all []located, more int) {
	for i := range r.Cases {
		c := &r.Cases[i]
		for j := range c.Results {
			result := &c.Results[j]
			at := result.Place
			if at == (Place{}) {
				at = c.Place
			}
			all = append(all, located{c, result, at})
		}
	}
	slices.SortStableFunc(all, func(a, b located) int { return cmp.Compare(b.Level, a.Level) })
	if more = len(all) - maxResults; more > 0 {
		return all[:maxResults], more
	}
	return all, 0
}

// path returns the path of a file relative to the directory of the report, with slashes.
func (r *Report) path(file string) string {
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
