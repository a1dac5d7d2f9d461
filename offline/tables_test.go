package offline

import (
	"fmt"
	"strings"
	"testing"
)

// If there are many namespaces, the worst are shown, unless all are requested.
func TestTablesAreCutShort(t *testing.T) {
	r := &Report{AsExisting: true, Counts: newCounts()}
	for i := range 300 {
		r.Counts.Findings[FindingCount{fmt.Sprintf("ns-%03d", i), "a", "b", "enforce"}] = i + 1
	}
	short, all := string(r.text(TextOptions{Limit: 1})), string(r.text(TextOptions{}))
	for text, want := range map[string]string{
		short: "  ns-280           281         0         0         0\n  and 280 more\n",
		all:   "  ns-000             1         0         0         0\n\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(short, "  a/b      45,150 ") {
		t.Errorf("findings of all namespaces are counted:\n%s", short)
	}
}
