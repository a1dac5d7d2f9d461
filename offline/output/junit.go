package output

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// junitReport contains the cases of a report, grouped by suite, and their counts.
type (
	junitReport struct {
		junitCounts
		suites []junitSuite
	}
	junitSuite struct {
		junitCounts
		name  string
		cases []junitCase
	}
	junitCounts struct{ tests, failures, errors, skipped int }
	junitCase   struct {
		name    string
		outcome string // name of an element: skipped, error or failure; empty for a case that passed
		kind    string // of the failure
		message string
		text    string
		out     string
	}
)

// maxShown is the maximum number of results of one case. It is more than anyone reads.
const maxShown = 50

// writeJUnit writes the report as JUnit XML. It uses the elements and attributes that both GitLab and Jenkins read
// and that the Jenkins schema (junit-10.xsd) contains. It formats the four elements itself, which keeps the encoder
// of encoding/xml out of the binary.
func (r *Report) writeJUnit(w io.Writer) error {
	var report junitReport
	suites, names := map[string]int{}, map[string]int{}
	for i := range r.Cases {
		c := &r.Cases[i]
		suite := name(r.path(c.Suite))
		at, ok := suites[suite]
		if !ok {
			at = len(report.suites)
			suites[suite] = at
			report.suites = append(report.suites, junitSuite{name: suite})
		}
		written := r.junitCase(c)
		key := suite + "\x00" + written.name
		if names[key]++; names[key] > 1 { // GitLab drops a case that has the name of another case
			written.name += " (" + strconv.Itoa(names[key]) + ")"
		}
		s := &report.suites[at]
		s.cases = append(s.cases, written)
		s.count(written.outcome)
		report.count(written.outcome)
	}
	b := junitWriter{bufio.NewWriter(w)}
	b.report("evergate "+r.Command, &report)
	return b.Flush()
}

// count counts a case by its outcome.
func (c *junitCounts) count(outcome string) {
	c.tests++
	switch outcome {
	case junitError:
		c.errors++
	case junitFailure:
		c.failures++
	case junitSkipped:
		c.skipped++
	}
}

// The elements for the outcome of a case.
const (
	junitError   = "error"
	junitFailure = "failure"
	junitSkipped = "skipped"
)

// junitCase returns a case. All failures are in one failure element, because Jenkins shows only one. Other results
// are in the output of the case.
func (r *Report) junitCase(c *Case) junitCase {
	written := junitCase{name: name(c.Name)}
	if c.Skipped != "" {
		written.outcome, written.message = junitSkipped, message(c.Skipped)
		return written
	}
	var failed, other []*Result
	for i := range c.Results {
		result := &c.Results[i]
		if result.Level >= Error || result.Level == Warning && r.FailOnWarnings {
			failed = append(failed, result)
		} else {
			other = append(other, result)
		}
	}
	written.out = r.lines(c, other)
	if len(failed) == 0 {
		return written
	}
	written.outcome, written.kind = junitFailure, name(failed[0].Rule)
	if slices.ContainsFunc(failed, func(result *Result) bool { return result.Level == Invalid }) {
		written.outcome = junitError
	}
	written.message, _, _ = strings.Cut(message(failed[0].Message), "\n")
	if more := len(failed) - 1; more > 0 {
		written.message += fmt.Sprintf(" (and %s more)", text.Thousands(more))
	}
	written.text = r.lines(c, failed)
	return written
}

// lines returns one or more lines for each result.
func (r *Report) lines(c *Case, results []*Result) string {
	var b strings.Builder
	for i, result := range results {
		if i == maxShown {
			fmt.Fprintf(&b, "and %s more\n", text.Thousands(len(results)-i))
			break
		}
		at := result.Place
		if at == (Place{}) {
			at = c.Place
		}
		if at.File != "" {
			b.WriteString(name(r.path(at.File)))
			if at.Line > 0 {
				b.WriteString(":" + strconv.Itoa(at.Line))
			}
			if at.Column > 0 {
				b.WriteString(":" + strconv.Itoa(at.Column))
			}
			b.WriteString(": ")
		}
		b.WriteString(result.Level.word() + ": " + message(result.Message) + "\n")
	}
	return b.String()
}

// word returns the word for a level.
func (l Level) word() string { return [...]string{"note", "warning", "error", "invalid"}[l] }

// junitWriter writes XML. Flush returns the first error.
type junitWriter struct{ *bufio.Writer }

// put writes a string. Flush returns its error.
func (w junitWriter) put(s string) { _, _ = w.WriteString(s) }

func (w junitWriter) report(name string, r *junitReport) {
	w.put(xml.Header + "<testsuites")
	w.attributes("name", name)
	w.counts(&r.junitCounts)
	w.put(">\n")
	for i := range r.suites {
		s := &r.suites[i]
		w.put("  <testsuite")
		w.attributes("name", s.name)
		w.counts(&s.junitCounts)
		w.attributes("skipped", strconv.Itoa(s.skipped))
		w.put(">\n")
		for j := range s.cases {
			w.testCase(&s.cases[j], s.name)
		}
		w.put("  </testsuite>\n")
	}
	w.put("</testsuites>\n")
}

// testCase writes a case. GitLab shows the class as the suite.
func (w junitWriter) testCase(c *junitCase, class string) {
	w.put("    <testcase")
	w.attributes("name", c.name, "classname", class)
	w.put(">")
	if c.outcome != "" {
		w.put("<" + c.outcome)
		if c.kind != "" {
			w.attributes("type", c.kind)
		}
		w.attributes("message", c.message)
		w.put(">")
		w.escape(c.text)
		w.put("</" + c.outcome + ">")
	}
	if c.out != "" {
		w.put("<system-out>")
		w.escape(c.out)
		w.put("</system-out>")
	}
	w.put("</testcase>\n")
}

func (w junitWriter) counts(c *junitCounts) {
	w.attributes("tests", strconv.Itoa(c.tests), "failures", strconv.Itoa(c.failures), "errors", strconv.Itoa(c.errors))
}

// attributes writes attributes. pairs contains names and values.
func (w junitWriter) attributes(pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		w.put(" " + pairs[i] + `="`)
		w.escape(pairs[i+1])
		w.put(`"`)
	}
}

// escape writes escaped text. Characters that XML does not allow become U+FFFD. Flush returns its error.
func (w junitWriter) escape(s string) { _ = xml.EscapeText(w, []byte(s)) }
