package suiterunner

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/suite"
)

// TextOptions contains options for the text of a report.
type TextOptions struct {
	Colors       text.Colors
	OnlyFailures bool
}

// maxNameWidth is the maximum width of the column of names. Longer names push the rest of the line to the right.
const maxNameWidth = 70

// WriteText writes the report for users: a table of the cases of each suite, with the difference for failed cases,
// the entries that no case has reached, and a summary.
func (r *Report) WriteText(to io.Writer, o TextOptions) error {
	var b strings.Builder
	for i := range r.Suites {
		r.Suites[i].write(&b, o)
	}
	for i := range r.Coverage {
		r.Coverage[i].write(&b, o.Colors)
	}
	fmt.Fprintf(&b, "%s\n", r.Summary.text())
	_, err := io.WriteString(to, b.String())
	return err
}

func (s *Suite) write(b *strings.Builder, o TextOptions) {
	width, shown := 0, 0
	for i := range s.Cases {
		if !o.OnlyFailures || !s.Cases[i].Passed {
			shown++
			width = max(width, min(maxNameWidth, utf8.RuneCountInString(s.Cases[i].Name)))
		}
	}
	if shown == 0 {
		return
	}
	b.WriteString(o.Colors.Head(s.File) + ", policy " + s.Policy + "\n")
	for i := range s.Cases {
		if c := &s.Cases[i]; !o.OnlyFailures || !c.Passed {
			c.write(b, s.File, width, o.Colors)
		}
	}
	b.WriteString("\n")
}

func (c *Case) write(b *strings.Builder, file string, width int, colors text.Colors) {
	name := text.Printable(c.Name, 4*maxNameWidth)
	pad := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(name)))
	if c.Passed {
		fmt.Fprintf(b, "  %s  %s%s  %s\n", colors.Good("pass"), name, pad, c.Decision)
		return
	}
	if c.Error != "" { // which is printed to stderr
		fmt.Fprintf(b, "  %s  %s%s  not run  %s:%d\n", colors.Bad("ERR "), name, pad, file, c.Line)
		return
	}
	fmt.Fprintf(b, "  %s  %s%s  %s  %s:%d\n", colors.Bad("FAIL"), name, pad, c.Decision, file, c.Line)
	for line := range strings.Lines(c.failure()) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "-"):
			line = colors.Bad(line)
		case strings.HasPrefix(line, "+"):
			line = colors.Good(line)
		}
		b.WriteString("        " + line + "\n")
	}
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

func (c *Coverage) write(b *strings.Builder, colors text.Colors) {
	for _, w := range c.Warnings {
		b.WriteString(colors.Warn("warning:") + " " + w + "\n")
	}
	for _, e := range c.Missing {
		b.WriteString(colors.Warn("not reached:") + " " + e.text() + "\n")
	}
}

// text returns an entry with its place: hardened.yaml:28:3: pods entry pinned.
func (e *Entry) text() string {
	return fmt.Sprintf("%s:%d:%d: %s entry %s", e.File, e.Line, e.Column, e.Block, e.Name)
}

func (s *Summary) text() string {
	n := s.Cases + s.NotRun
	line := fmt.Sprintf("%s %s: %s passed, %s failed", text.Thousands(n), text.Plural(n, "case"), text.Thousands(s.Passed),
		text.Thousands(s.Failed))
	if s.NotRun > 0 {
		line += fmt.Sprintf(", %s not run", text.Thousands(s.NotRun))
	}
	if s.Left > 0 {
		line += fmt.Sprintf(", %s left out", text.Thousands(s.Left))
	}
	if s.Unread > 0 {
		line += fmt.Sprintf("; %s not read", text.Count(s.Unread, "suite"))
	}
	if s.Entries > 0 {
		line += fmt.Sprintf("; %s of %s entries reached (%d %%)", text.Thousands(s.Reached), text.Thousands(s.Entries),
			100*s.Reached/s.Entries)
	}
	return line
}
