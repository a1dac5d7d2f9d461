package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/text"
)

// Tables are aligned, and cannot control a terminal or add lines.
func TestTable(t *testing.T) {
	var p Printer
	p.Colors = true
	p.Line("head")
	p.Section()
	p.Section()
	p.Table([][]Cell{
		{{}, {Text: "ä", Tone: text.Colors.Good}, Number(1000, text.Colors.Bad), {Text: "end"}},
		{{}, {Text: "a\n\x1b##b"}, Number(0, text.Colors.Bad)},
	}, func(row int) { p.Line("after %d", row) })
	want := "head\n\n  \x1b[32mä\x1b[0m        \x1b[31m1,000\x1b[0m  end\nafter 0\n  a  # #b      0\nafter 1\n"
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// If there are many rows, those with the largest numbers in the first columns are written, unless all are requested.
// Columns without numbers are left out.
func TestNumbers(t *testing.T) {
	tally := NewTally(3)
	for i := range 30 {
		tally.Add(fmt.Sprintf("ns-%02d", i), 0, i)
	}
	tally.Add("ns-00", 2, 5)
	columns := []Column{{Head: "denied"}, {Head: "warned"}, {Head: "audited"}}
	var short, all Printer
	short.Numbers("by namespace", columns, tally.Rows()[:29], 2)
	all.AllRows = true
	all.Numbers("by namespace", columns, tally.Rows()[27:], 0)
	head, tail := "by namespace  denied\n  ns-29           29\n", "  ns-10           10\n  and 11 more\n"
	if got := short.String(); !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) {
		t.Errorf("got %s", got)
	}
	for got, want := range map[string]string{
		all.String(): "by namespace  denied  audited\n  ns-02            2        0\n  ns-01            1        0\n" +
			"  ns-00            0        5\n",
		List(Some(0, "a"), Some(2, "b")): "2 b",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
