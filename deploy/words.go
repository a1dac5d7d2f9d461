package deploy

import (
	"fmt"
	"strings"
	"time"
)

// oneOf lists alternatives: a or b.
func oneOf(names []string) string { return strings.Join(names, " or ") }

// shown is how many names a sentence holds at most.
const shown = 20

// some lists names, of many the first and how many more there are.
func some(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// hours writes a duration as Certificates do: 2160h.
func hours(d time.Duration) string {
	s := d.String()
	s = strings.TrimSuffix(s, "0s")
	return strings.TrimSuffix(s, "0m")
}

// stamp writes a time.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
