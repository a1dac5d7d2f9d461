package output

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// The elements and attributes of JUnit XML that both GitLab and Jenkins read and that the Jenkins schema (junit-10.xsd)
// contains.
type (
	junitReport struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Suites []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitCounts
		Skipped int         `xml:"skipped,attr"` // always 0
		Cases   []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"` // GitLab shows it as the suite
		Failure *junitFailure `xml:"failure"`
		Error   *junitFailure `xml:"error"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// maxShown is the maximum number of results of one case. It is more than anyone reads.
const maxShown = 50

// writeJUnit writes the report as JUnit XML.
func (r *findings) writeJUnit(w io.Writer) error {
	report := junitReport{Name: "evergate " + r.Command}
	suites, names := map[string]*junitSuite{}, map[[2]string]int{}
	for i := range r.cases {
		c := r.junitCase(&r.cases[i])
		s := suites[c.Class]
		if s == nil {
			s = &junitSuite{Name: c.Class}
			suites[c.Class], report.Suites = s, append(report.Suites, s)
		}
		key := [2]string{c.Class, c.Name}
		if names[key]++; names[key] > 1 { // GitLab drops a case that has the name of another case
			c.Name += " (" + strconv.Itoa(names[key]) + ")"
		}
		s.Cases = append(s.Cases, c)
		s.count(&c)
		report.count(&c)
	}
	data, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	// Each case is on one line. Texts do not contain these strings, because the encoder escapes newlines and brackets.
	oneLine := strings.NewReplacer("\n      ", "", "\n    </", "</", "></testsuites>", ">\n</testsuites>")
	_, err = oneLine.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

func (n *junitCounts) count(c *junitCase) {
	n.Tests++
	if c.Failure != nil {
		n.Failures++
	}
	if c.Error != nil {
		n.Errors++
	}
}

// junitCase returns a case. All failures are in one failure element, because Jenkins shows only one. Other results
// are in the output of the case.
func (r *findings) junitCase(c *Case) junitCase {
	written := junitCase{Name: name(c.Name), Class: name(r.path(c.Suite))}
	var failed, other []*Result
	for i := range c.Results {
		result := &c.Results[i]
		if result.Level >= Error || result.Level == Warning && r.FailOnWarnings {
			failed = append(failed, result)
		} else {
			other = append(other, result)
		}
	}
	written.Out = r.lines(c, other)
	if len(failed) == 0 {
		return written
	}
	failure := &junitFailure{Type: name(failed[0].Rule), Text: r.lines(c, failed)}
	failure.Message, _, _ = strings.Cut(message(failed[0].Message), "\n")
	if more := len(failed) - 1; more > 0 {
		failure.Message += fmt.Sprintf(" (and %s more)", text.Thousands(more))
	}
	if slices.ContainsFunc(failed, func(result *Result) bool { return result.Level == Invalid }) {
		written.Error = failure
	} else {
		written.Failure = failure
	}
	return written
}

// lines returns one or more lines for each result.
func (r *findings) lines(c *Case, results []*Result) string {
	var b strings.Builder
	for i, result := range results {
		if i == maxShown {
			fmt.Fprintf(&b, "and %s more\n", text.Thousands(len(results)-i))
			break
		}
		at := cmp.Or(result.Place, c.Place)
		if at.File != "" {
			at.File = name(r.path(at.File))
			b.WriteString(at.String() + ": ")
		}
		b.WriteString(result.Level.String() + ": " + message(result.Message) + "\n")
	}
	return b.String()
}
