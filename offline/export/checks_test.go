package export

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The golden contains the expression of each check, and of the variables that checks use, for testdata/checks.yaml.
func TestChecks(t *testing.T) {
	text, err := os.ReadFile("testdata/checks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	x := newExporter(describe(t, string(text)), Options{Targets: []Target{VAP, MAP}})
	if x.omit(); len(x.causes) > 0 {
		t.Error(x.causes[0])
	}
	var b strings.Builder
	for _, k := range x.kinds {
		for _, v := range k.variables {
			fmt.Fprintf(&b, "// %s: variables.%s\n%s\n\n", k.name, v.name, folded(v.expression))
		}
		for _, e := range x.entries {
			if e.Block != k.name {
				continue
			}
			for _, c := range e.checks {
				fmt.Fprintf(&b, "// %s: %s: %s\n", k.name, c.id, c.hint)
				if c.known != "" {
					fmt.Fprintf(&b, "// existed before: %s\n", cel(c.known, "$old", "before"))
				}
				fmt.Fprintf(&b, "%s\n\n", folded(c.faults))
			}
		}
	}
	golden(t, "checks.cel", []byte(strings.TrimSuffix(b.String(), "\n")))
}

// folded returns an expression on lines of about a hundred characters, which begin with an operator or a call.
func folded(expression string) string {
	const longest = 100
	var b strings.Builder
	parts := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|&&|\|\||\.(?:map|filter|exists|all|transformList)\(|.`)
	column, depth := 0, 0
	for _, part := range parts.FindAllString(expression, -1) {
		begins := len(part) > 1 && part[0] != '"' && part[0] != '\'' || part == "?" || part == ":" || part == "{"
		if begins && column > longest-40 {
			indent := strings.Repeat(" ", min(depth, 20))
			b.WriteString("\n" + indent)
			column = len(indent)
		}
		b.WriteString(part)
		if column += len(part); strings.HasSuffix(part, "(") {
			depth++
		} else if part == ")" {
			depth--
		}
	}
	return b.String()
}
