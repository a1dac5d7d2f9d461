package deploy

import (
	"strings"
	"time"

	"github.com/evergate/evergate/internal/text"
)

// oneOf lists alternatives: a or b.
func oneOf(names []string) string { return strings.Join(names, " or ") }

// shown is the maximum number of names in a sentence.
const shown = 20

// some lists names. If there are many, it lists the first and the number of the others.
func some(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return text.ListUpTo(shown, names)
}

// hours formats a duration as Certificates do: 2160h, and 24h30m.
func hours(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if rest, ok := strings.CutSuffix(s, zero); ok && strings.TrimRight(rest, "hm") != rest {
			s = rest // 10m0s, but not 10s
		}
	}
	return s
}

// stamp formats a time.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// printable returns s as one line, with the escapes of text.Escape, because manifests come from anywhere.
func printable(s string) string { return text.Escape(strings.ReplaceAll(s, "\n", " ")) }
