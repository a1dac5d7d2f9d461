package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestSizing checks that the costs in runbooks/sizing.md are the costs in performance.md.
func TestSizing(t *testing.T) {
	costs := string(read(t, "docs/performance.md"))
	sizing := strings.Join(strings.Fields(string(read(t, "docs/runbooks/sizing.md"))), " ")
	for _, c := range []struct{ review, sentence string }{
		{"small Pod, images rewritten", "10 × %s µs"},
		{"typical Pod, 5 containers", "a typical Pod with 5 containers takes %s µs"},
		{"large Pod, 20 containers", "a large Pod with 20 containers takes %s µs"},
		{"Ingress, 500 hosts", "an Ingress with 500 hosts takes %s µs"},
	} {
		line := regexp.MustCompile(`(?m)^\| ` + c.review + ` \([0-9.]+ KB\) \| \d+ \| (\d+) \| \d+ \|$`)
		row := line.FindStringSubmatch(costs)
		if row == nil {
			t.Errorf("performance.md has no cost of: %s", c.review)
			continue
		}
		if want := fmt.Sprintf(c.sentence, row[1]); !strings.Contains(sizing, want) {
			t.Errorf("runbooks/sizing.md does not contain %q", want)
		}
	}
}

// TestComparisonFigures checks that the measured figures in comparison.md are also on a page that explains them.
func TestComparisonFigures(t *testing.T) {
	var sources string
	for _, page := range []string{"performance.md", "measurements.md", "pictures/rollover-light.svg"} {
		sources += string(read(t, "docs/"+page))
	}
	other := regexp.MustCompile(`\]\([^)]*\)|since\s+(?:Kubernetes\s+)?[\d.]+`) // links and versions
	page := string(other.ReplaceAll(read(t, "docs/comparison.md"), nil))
	figures := regexp.MustCompile(`\d+[.,]\d+`).FindAllString(page, -1)
	for _, figure := range figures {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(figure) + `\b`).MatchString(sources) {
			t.Errorf("no other page contains %s", figure)
		}
	}
	if len(figures) < 8 {
		t.Errorf("only %d figures were found: %q", len(figures), figures)
	}
}
