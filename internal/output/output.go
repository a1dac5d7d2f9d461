// Package output writes what a command has found in the forms that pipelines read: JUnit for test reports, SARIF 2.1.0
// for code scanning, and the commands of GitHub's workflows, which annotate a diff; and any value as JSON or YAML.
//
// A command has a Flag with the formats that make sense for it. It writes its text itself, and all else by Write:
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
// report is what JSON and YAML show. Cases are what was judged, one by one, and what was found of each; the
// package that judges makes them. In package cmd, writeReport knows the command, the version and the directory.
//
//	format.go   the formats, the flag, JSON and YAML
//	sarif.go    SARIF; sarif_types.go, the part of it that is written
//	junit.go    JUnit
//	github.go   commands of GitHub's workflows
package output

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/evergate/evergate/internal/text"
)

// Report is what a command has found.
type Report struct {
	Command string // of evergate: review, policy check
	Version string // of evergate
	Dir     string // the working directory, which files are written relative to; empty leaves them as they are
	Cases   []Case // in the order in which they were judged

	FailOnWarnings bool // in JUnit a case fails by a Warning too
}

// Case is one thing that was judged: an object, a policy, a case of a suite.
type Case struct {
	Suite   string // what JUnit groups cases by; mostly a file
	Name    string
	Place   Place  // where it is written
	Skipped string // why it was not judged; empty where it was
	Results []Result
}

// Result is one thing that was found.
type Result struct {
	Level   Level
	Rule    string // by which it was found: team-hosts/hosts.allowed
	Subject string // what it is about, without line and index, so that it is the same when lines are added above
	Message string
	Help    string // what the rule is for; may be empty
	Place   Place  // where it is nil, that of the case
}

// Place is a place in a file. Lines and columns count from 1; columns count characters; 0 means not known.
type Place struct {
	File         string
	Line, Column int
}

// Level is how bad a result is.
type Level int

// The levels, the worst last.
const (
	Note    Level = iota // worth knowing
	Warning              // allowed, with a warning
	Error                // denied, or failed
	Invalid              // the input was not understood, so that nothing is known of it
)

// Bounds of what is written.
const (
	// maxResults is how many results SARIF and GitHub's commands have: GitHub shows no more of one SARIF file.
	maxResults = 5000
	// maxMessage bounds a message, in bytes: GitHub shows a quarter of it in a list.
	maxMessage = 4 << 10
	// maxName bounds names in bytes: longer ones are no names of Kubernetes.
	maxName = 512
	// maxPath bounds the names of files in bytes: Linux opens none that is longer.
	maxPath = 4096
)

// located is a result with its case.
type located struct {
	*Case
	*Result
	at Place
}

// worst returns the first maxResults results, the worst first, and how many there are more.
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

// path returns a file as it is called from the directory of the report, with slashes.
func (r *Report) path(file string) string {
	if r.Dir != "" && filepath.IsAbs(file) {
		if relative, err := filepath.Rel(r.Dir, file); err == nil {
			file = relative
		}
	}
	return filepath.ToSlash(filepath.Clean(text.Truncate(file, maxPath)))
}

// message returns a message of bounded length, whose characters print.
func message(s string) string { return text.Escape(text.Truncate(s, maxMessage)) }

// name returns a name of bounded length, in one line.
func name(s string) string { return text.Printable(s, maxName) }
