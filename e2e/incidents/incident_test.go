// Package incidents is the catalogue: one test for each outage that some webhook has caused, named as in
// docs/guarantees.md. Each installs the product as users do, puts load on it where that matters, makes the incident
// happen, and holds what was counted against what Evergate guarantees; and then once more with the counter-measure
// taken away, which must break the guarantee: a test that cannot fail proves nothing.
//
//	make e2e RUN=I6      # one of them
//	make e2e             # all, short
//	make e2e SHORT=1     # the incidents of the gate: without long ones, variants and controls
//	make e2e-long        # all, as long as the incidents were
package incidents

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/report"
)

// incident is one row of the catalogue.
type incident struct {
	id    string // I1
	what  string // what happens, as the report says it
	guard string // what guards against it
	// product is what is installed: the kit, and what of it a short run has to be quicker with.
	product cluster.Product
	// happen makes it happen, under load where that matters, and says what was seen. A control need go on only until
	// the guarantee is broken.
	happen func(t *testing.T, l *lab, control bool) outcome
	// lacking says what the control takes away, and without does it. A variant has neither, because another test of the
	// incident has its control. go test -short leaves out variants, controls and long incidents.
	lacking string
	without func(t *testing.T, l *lab)
	// beside means that happen runs the control itself, next to the incident.
	beside bool
	// long leaves the incident to the whole run, because it takes minutes and shows a quality of a service that works:
	// the gate cannot afford it. docs/guarantees.md lists these incidents.
	long bool
}

// outcome is what was seen.
type outcome struct {
	figures []report.Figure
	broken  []string // what the guarantee forbids; nothing: it held
}

// figure writes down something that was counted.
func (o *outcome) figure(name, format string, args ...any) {
	o.figures = append(o.figures, report.Figure{Name: name, Value: fmt.Sprintf(format, args...)})
}

// breaks writes down something that the guarantee forbids.
func (o *outcome) breaks(format string, args ...any) {
	o.broken = append(o.broken, fmt.Sprintf(format, args...))
}

// add appends another outcome.
func (o *outcome) add(other outcome) {
	o.figures = append(o.figures, other.figures...)
	o.broken = append(o.broken, other.broken...)
}

// try runs an incident and its control.
func try(t *testing.T, in incident) {
	if testing.Short() && (in.long || in.without == nil && !in.beside) {
		t.Skip("-short leaves out variants and long incidents")
	}
	l := open(t)
	t.Run("holds", func(t *testing.T) {
		l.install(t, in.product)
		o := in.run(t, l, false)
		for _, why := range o.broken {
			t.Error(why)
		}
	})
	if in.without == nil || testing.Short() {
		return
	}
	t.Run("control", func(t *testing.T) {
		l.install(t, in.product)
		in.without(t, l)
		if o := in.run(t, l, true); len(o.broken) == 0 && !t.Failed() {
			t.Errorf("%s, and nothing broke: the test above does not see what it is for", in.lacking)
		}
	})
}

// run makes it happen once and writes it down.
func (in incident) run(t *testing.T, l *lab, control bool) outcome {
	t.Helper()
	begun := time.Now()
	o := in.happen(t, l, control)
	row := report.Row{
		Incident: in.id, What: in.what, Guard: in.guard, Control: control,
		Figures: o.figures, Broken: o.broken, Took: time.Since(begun),
	}
	if control {
		row.Guard = in.lacking
	}
	for _, f := range o.figures {
		t.Logf("%s: %s", f.Name, f.Value)
	}
	if control {
		for _, why := range o.broken {
			t.Logf("seen: %s", why)
		}
	}
	book.Add(row)
	return o
}

// control writes down a control that was beside the incident itself, and fails the test when it did not break.
func (in incident) control(t *testing.T, lacking string, o outcome, took time.Duration) {
	t.Helper()
	row := report.Row{
		Incident: in.id, What: in.what, Guard: lacking, Control: true, Figures: o.figures, Broken: o.broken, Took: took,
	}
	book.Add(row)
	t.Logf("control: %s: %v %v", lacking, o.figures, o.broken)
	if !row.Right() {
		t.Errorf("%s, and nothing broke: this does not see what it is for", lacking)
	}
}

// long reports whether incidents last as long as they did where they come from, instead of a few minutes each.
func long() bool { return os.Getenv("EVERGATE_E2E_LONG") != "" }

// lasting returns how long something goes on in this run.
func lasting(short, whole time.Duration) time.Duration {
	if long() {
		return whole
	}
	return short
}

// book is what the whole run has seen: TestMain writes it, the one thing that all tests share.
var book = new(report.Report)

// TestMain runs the tests and, where EVERGATE_E2E_REPORT names a file, writes the report to it.
func TestMain(m *testing.M) {
	begun, revision := time.Now(), revision()
	code := m.Run()
	if file := os.Getenv("EVERGATE_E2E_REPORT"); file != "" && !book.Empty() {
		if err := writeReport(file, begun, revision); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func writeReport(file string, begun time.Time, revision string) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	describeRun(begun, revision)
	if err := book.Write(f); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return f.Close()
}
