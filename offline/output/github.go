package output

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// writeGitHub writes a workflow command for each result, the worst first, because GitHub shows only ten of each
// level.
func (r *findings) writeGitHub(w io.Writer) error {
	results, more := r.worst()
	b := bufio.NewWriter(w)
	for _, result := range results {
		var properties []string
		add := func(key, value string) { properties = append(properties, key+"="+escapeProperty(value)) }
		if result.at.File != "" {
			add("file", name(r.path(result.at.File)))
			if result.at.Line > 0 {
				add("line", strconv.Itoa(result.at.Line))
			}
			if result.at.Column > 0 {
				add("col", strconv.Itoa(result.at.Column))
			}
		}
		add("title", name(cmp.Or(result.Subject, result.Name)))
		fmt.Fprintf(b, "::%s %s::%s\n", result.Level.github(), strings.Join(properties, ","),
			escapeData(message(result.Message)))
	}
	if more > 0 {
		fmt.Fprintf(b, "::notice::and %s more\n", text.Thousands(more))
	}
	return b.Flush()
}

// github returns the command for a level.
func (l Level) github() string {
	if l == Note {
		return "notice"
	}
	return min(l, Error).String()
}

// escapeData escapes the text after the second pair of colons, like the toolkit for GitHub Actions does.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty escapes the value of a property.
func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
