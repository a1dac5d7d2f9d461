package deploy

import (
	"fmt"
	"strings"
)

// Text is the report for people: for each finding what was found, why it breaks clusters, and the fix.
func (r *Report) Text() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-7s  %s  %s", f.Severity, f.ID, printable(f.Object))
		if f.Source != "" {
			fmt.Fprintf(&b, " (%s)", f.Source)
		}
		fmt.Fprintf(&b, "\n         %s\n", printable(f.Message))
		if f.Severity != Info {
			fmt.Fprintf(&b, "         why:  %s\n         fix: %s\n", f.Why, f.Fix)
		}
	}
	if len(r.Findings) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(r.Summary.text() + "\n")
	return b.String()
}

func (s *Summary) text() string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{s.Errors, "error"}, {s.Warnings, "warning"}, {s.Infos, "info"}} {
		if c.n > 0 {
			parts = append(parts, count(c.n, c.what))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing found")
	}
	return fmt.Sprintf("%s, %s: %s", count(s.Objects, "object"), count(len(checks()), "check"), strings.Join(parts,
		", "))
}

func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
