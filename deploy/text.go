package deploy

import (
	"cmp"
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
)

// WriteText writes the report for people. Each finding has the problem, the reason why it breaks clusters, and the fix.
func (r *Report) WriteText(b *output.Printer) {
	colors, written := b.Colors, 0
	least := Info
	switch {
	case b.OnlyFailures && b.FailOnWarnings:
		least = Warning
	case b.OnlyFailures:
		least = Error
	}
	for _, f := range r.Findings {
		if f.Severity.rank() > least.rank() {
			continue
		}
		written++
		severity := f.Severity.colored(colors, fmt.Sprintf("%-7s", f.Severity))
		fmt.Fprintf(b, "%s  %s  %s", severity, f.ID, printable(f.Object))
		if f.Source != "" {
			fmt.Fprintf(b, " (%s)", f.Source)
		}
		fmt.Fprintf(b, "\n         %s\n", printable(f.Message))
		if f.Severity != Info {
			fmt.Fprintf(b, "         why:  %s\n         fix: %s\n", f.Why, f.Fix)
		}
	}
	if written > 0 {
		b.WriteString("\n")
	}
	if least == Info {
		for _, line := range offline.SkipLines(nil, r.SkippedFiles) {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString(r.Summary.text() + "\n")
}

// colored formats a text in the color of a severity.
func (s Severity) colored(c text.Colors, word string) string {
	switch s {
	case Error:
		return c.Bad(word)
	case Warning:
		return c.Warn(word)
	default:
		return c.Note(word)
	}
}

func (s *Summary) text() string {
	found := output.List(
		output.Some(s.Errors, text.Plural(s.Errors, "error")), output.Some(s.Warnings, text.Plural(s.Warnings, "warning")),
		output.Some(s.Infos, text.Plural(s.Infos, "info")),
	)
	return text.Count(s.Objects, "object") + ", " + text.Count(len(checks()), "check") + ": " +
		cmp.Or(found, "nothing found")
}
