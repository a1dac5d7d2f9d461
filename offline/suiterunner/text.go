package suiterunner

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy/suite"
)

// WriteText writes the report for users: a table of the cases of each suite, with the difference for failed cases,
// the entries that no case has reached, and a summary.
func (r *Report) WriteText(p *output.Printer) {
	for i := range r.Suites {
		r.Suites[i].writeText(p)
	}
	p.Section()
	for _, c := range r.Coverage {
		for _, w := range c.Warnings {
			p.Note(text.Colors.Warn, "warning:", w)
		}
		for _, e := range c.Missing {
			place := output.Place{File: e.File, Line: e.Line, Column: e.Column}
			p.Note(text.Colors.Warn, "not reached:", fmt.Sprintf("%s: %s entry %s", place, e.Block, e.Name))
		}
	}
	p.Line("%s", r.Summary.text())
}

func (s *Suite) writeText(p *output.Printer) {
	var cases []*Case
	var rows [][]output.Cell
	for i := range s.Cases {
		c := &s.Cases[i]
		if p.OnlyFailures && c.Passed {
			continue
		}
		row := []output.Cell{{}, {Text: "pass", Tone: text.Colors.Good}, {Text: c.Name}, {Text: c.Decision}}
		if !c.Passed {
			row[1] = output.Cell{Text: "FAIL", Tone: text.Colors.Bad}
			row = append(row, output.Cell{Text: output.Place{File: s.File, Line: c.Line}.String()})
		}
		if c.Error != "" { // which is printed to stderr
			row[1].Text, row[3].Text = "ERR", "not run"
		}
		cases, rows = append(cases, c), append(rows, row)
	}
	if len(cases) == 0 {
		return
	}
	p.Section()
	p.Line("%s, policy %s", p.Paint(text.Colors.Head, s.File), s.Policy)
	p.Table(rows, func(i int) {
		for line := range strings.Lines(cases[i].failure()) {
			tone := map[byte]output.Tone{'-': text.Colors.Bad, '+': text.Colors.Good}[line[0]]
			p.Line("        %s", p.Paint(tone, strings.TrimSuffix(line, "\n")))
		}
	})
}

// failure returns the reason why the case failed: the difference, and the denials and warnings that a user sees.
func (c *Case) failure() string {
	s := c.Diff
	if c.nothing {
		s = "the case does not expect anything; these fields match the decision:\n"
		for _, field := range c.decidedFields() {
			s += textOf(field, &c.decided)
		}
	}
	for _, line := range c.Findings {
		s += text.Printable(line, maxSentence) + "\n"
	}
	return s
}

// decidedFields returns the fields that describe the decision: whether the object is allowed or the checks that deny
// it, the warnings, and the rewritten images.
func (c *Case) decidedFields() []string {
	fields := []string{suite.FieldAllowed}
	if len(c.decided.Denied) > 0 {
		fields = []string{suite.FieldDenied}
	}
	if len(c.decided.Warned) > 0 {
		fields = append(fields, suite.FieldWarned)
	}
	if len(c.decided.Images) > 0 && *c.decided.Allowed {
		fields = append(fields, suite.FieldImages)
	}
	return fields
}

// maxSentence limits a sentence, in bytes. The API server shows at most four times as much for all sentences
// together.
const maxSentence = 1024

func (s *Summary) text() string {
	line := text.Count(s.Cases+s.NotRun, "case") + ": " + text.Thousands(s.Passed) + " passed, " +
		text.Thousands(s.Failed) + " failed"
	if more := output.List(output.Some(s.NotRun, "not run"), output.Some(s.Left, "left out")); more != "" {
		line += ", " + more
	}
	if s.Unread > 0 {
		line += "; " + text.Count(s.Unread, "suite") + " not read"
	}
	if s.Entries > 0 {
		line += fmt.Sprintf("; %s of %s entries reached (%d %%)", text.Thousands(s.Reached), text.Thousands(s.Entries),
			100*s.Reached/s.Entries)
	}
	return line
}
