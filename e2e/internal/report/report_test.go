package report

import (
	"strings"
	"testing"
	"time"
)

func TestWrite(t *testing.T) {
	r := new(Report)
	row := Row{Incident: "I1", What: "a restart", Guard: "the drain", Figures: []Figure{{"requests", "10"}},
		Took: time.Second}
	r.Add(row)
	row.Control, row.Guard, row.Broken = true, "no drain", []string{"3 requests\nfailed | lost"}
	r.Add(row)
	row.Broken = nil
	r.Add(row)
	r.Describe("when", "today")
	r.Describe("when", "later")
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| when | today |",
		"| I1 | a restart | held | 1s |",
		"| I1 | control, no drain | breaks, as it must | 1s |",
		"| I1 | control, no drain | **does not break: the test above cannot detect a failure** | 1s |",
		"## I1: a restart\n\nwith the drain: held.\n\n- requests: 10\n\ncontrol: no drain: breaks, as it must.\n\n- " +
			"requests: 10\n- seen: 3 requests failed \\| lost\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "later") {
		t.Error("the first value was not kept")
	}
	if strings.Count(b.String(), "## I1") != 1 {
		t.Errorf("one incident has several headings:\n%s", &b)
	}
}

func TestRight(t *testing.T) {
	for _, test := range []struct {
		control bool
		broken  []string
		want    bool
	}{
		{false, nil, true}, {false, []string{"x"}, false}, {true, nil, false}, {true, []string{"x"}, true},
	} {
		if got := (Row{Control: test.control, Broken: test.broken}).Right(); got != test.want {
			t.Errorf("control %t, broken %v: right is %t", test.control, test.broken, got)
		}
	}
}
